import type { ClaimedRow, HiddenRow, ProbeRow, WaitingRow } from './claim-statements.ts'
import { markText } from './marks.ts'
import type { Marks } from './marks.ts'
import { inPlaces } from './shares.ts'
import type { SharedQueue } from './shares.ts'
import type { Slots } from './slots.ts'

/**
 * What a claim asks for, as rows: every level of every queue, in the order of the worker's turns,
 * once for each lane. A lane is a set of kinds that are counted together: all kinds without a cap
 * are one, each capped kind is one of its own. Pure: slots and marks go in, rows come out.
 */
export interface KindLane {
  readonly kinds: readonly string[]
  /** The cap of the lane's one kind; null for the lane of kinds without. */
  readonly capped: boolean
  readonly key: string
}

export interface ProbeSpace {
  readonly queues: readonly string[]
  readonly lanes: readonly KindLane[]
  readonly queueCaps: ReadonlyMap<string, number>
}

/** How many more runs fit a kind, and a queue. */
export type Room = Pick<Slots, 'freeOfKind' | 'freeOfQueue'>

export interface ClaimPlan {
  readonly rows: readonly ProbeRow[]
  /** Whether a cap may bind, or levels take turns, so that the statement has to count. */
  readonly mustCount: boolean
  /** The queue whose levels take turns in this claim, with the places of each. */
  readonly shared: SharedQueue | null
}

// Of kinds without a cap as many as the claim may take, however many of them a queue gives up at its
// own cap: those would else be counted, and leave slots empty.
const NO_CAP = 1_000_000

export const LEVELS: readonly number[] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]

/** Kinds of one worker in lanes. */
export function lanesOf(
  kinds: Iterable<{ readonly name: string; readonly concurrency: number | null }>,
): readonly KindLane[] {
  const uncapped: string[] = []
  const lanes: KindLane[] = []
  for (const kind of kinds) {
    if (kind.concurrency === null) uncapped.push(kind.name)
    else lanes.push({ kinds: [kind.name], capped: true, key: kind.name })
  }
  if (uncapped.length > 0) {
    uncapped.sort()
    lanes.unshift({ kinds: uncapped, capped: false, key: uncapped.join('\0') })
  }
  return lanes
}

/** The probes of one claim of at most `most` rows, the queue of this turn first. */
export function planClaim(
  space: ProbeSpace,
  state: {
    readonly slots: Room
    readonly marks: Marks
    readonly turn: number
    readonly most: number
    /** At most this many of one queue, so that its jobs do not wait here before those of others. */
    readonly share?: number
  },
): ClaimPlan {
  const { slots, most, share = most } = state
  const lanes = space.lanes.map((lane, index) => ({
    ...lane,
    index,
    most: lane.capped ? Math.min(most, slots.freeOfKind(lane.kinds[0] ?? '')) : most,
  }))
  const open = lanes.filter((lane) => lane.most > 0)
  const rows = inTurn(space.queues, state.turn).flatMap((queue, turn) => {
    const queueMost = Math.min(share, slots.freeOfQueue(queue))
    if (queueMost === 0) return []
    return LEVELS.flatMap((level) =>
      open.map((lane): ProbeRow => {
        const mark = state.marks.of({ queue, level, lane: lane.key })
        return {
          turn,
          queue,
          level,
          lane: lane.index,
          kinds: lane.kinds,
          mark_due: markText(mark.due),
          mark_id: mark.id,
          most: Math.min(lane.most, queueMost),
          lane_most: lane.capped ? lane.most : NO_CAP,
          queue_most: queueMost,
        }
      }),
    )
  })
  const mustCount = space.queueCaps.size > 0 || space.lanes.some((lane) => lane.capped)
  return { rows, mustCount, shared: null }
}

/**
 * The rows of a claim in the order they were chosen (C1, C3): the statement takes them out by their
 * places in the table, and answers in the order of these.
 */
export function inOrder(claimed: readonly ClaimedRow[], plan: ClaimPlan): readonly ClaimedRow[] {
  const turns = new Map(plan.rows.map((row) => [row.queue, row.turn]))
  const turnOf = (row: ClaimedRow): number => turns.get(row.queue) ?? 0
  const sorted = claimed.toSorted(
    (a, b) =>
      turnOf(a) - turnOf(b) ||
      a.priority - b.priority ||
      a.due_at - b.due_at ||
      (a.job_id < b.job_id ? -1 : 1),
  )
  return plan.shared === null ? sorted : inPlaces(sorted, plan.shared)
}

/** Moves the marks to where a claim got, made at `now` with `most` rows asked for; its rows in order. */
export function recordWalk(
  plan: ClaimPlan,
  claimed: readonly ClaimedRow[],
  state: {
    readonly space: ProbeSpace
    readonly marks: Marks
    readonly now: number
    readonly most: number
  },
): void {
  const taken = groupByProbe(claimed, state.space.lanes)
  const isCut = cutByCaps(plan, claimed)
  const isPassed = passedBy(plan, taken)
  let pulled = 0
  for (const row of plan.rows) {
    const lane = state.space.lanes[row.lane]
    if (lane === undefined) continue
    const rows = taken.get(probeKey(row.queue, row.level, row.lane)) ?? []
    pulled += rows.length
    const last = rows.at(-1)
    state.marks.walked(
      { queue: row.queue, level: row.level, lane: lane.key },
      {
        last: last === undefined ? undefined : { due: last.due_at, id: last.job_id },
        // Once the limit is reached nothing is known of the probes behind.
        exhausted: plan.mustCount
          ? rows.length < row.most &&
            (isPassed(row) || (claimed.length < state.most && !isCut(row)))
          : pulled < state.most && rows.length < row.most,
        now: state.now,
      },
    )
  }
}

/** The same after a look at the first row of each probe: those that have none were walked to their end. */
export function recordLook(
  plan: ClaimPlan,
  found: readonly WaitingRow[],
  state: { readonly space: ProbeSpace; readonly marks: Marks; readonly now: number },
): void {
  const waiting = new Set(found.map((row) => probeKey(row.queue, row.level, row.lane)))
  for (const { queue, level, lane } of plan.rows) {
    const key = state.space.lanes[lane]?.key
    if (key === undefined || waiting.has(probeKey(queue, level, lane))) continue
    const walk = { last: undefined, exhausted: true, now: state.now }
    state.marks.walked({ queue, level, lane: key }, walk)
  }
}

/** Lowers the marks that hid something due. True when any did. */
export function lowerMarks(hidden: readonly HiddenRow[], space: ProbeSpace, marks: Marks): boolean {
  for (const row of hidden) {
    const lane = space.lanes[row.lane]
    if (lane === undefined) continue
    marks.lower(
      { queue: row.queue, level: row.level, lane: lane.key },
      { due: row.due_at, id: row.job_id },
    )
  }
  return hidden.length > 0
}

/**
 * In a counted claim a probe may have found more than its lane or its queue was allowed. The lanes
 * take turns within a level there, so that a limit that was reached says nothing of any probe. And of
 * a capped kind what one queue gave up at its own cap was counted before what other queues have.
 */
function cutByCaps(plan: ClaimPlan, claimed: readonly ClaimedRow[]): (row: ProbeRow) => boolean {
  const ofQueue = new Map<string, number>()
  const ofKind = new Map<string, number>()
  for (const { queue, kind } of claimed) {
    ofQueue.set(queue, (ofQueue.get(queue) ?? 0) + 1)
    ofKind.set(kind, (ofKind.get(kind) ?? 0) + 1)
  }
  const isFull = (row: ProbeRow): boolean => (ofQueue.get(row.queue) ?? 0) >= row.queue_most
  const isAnyFull = plan.rows.some(isFull)
  return (row) =>
    isFull(row) ||
    (isAnyFull && row.lane_most !== NO_CAP) ||
    row.kinds.reduce((sum, kind) => sum + (ofKind.get(kind) ?? 0), 0) >= row.lane_most
}

/**
 * A counted claim that was filled says something, too: within a queue and a lane rows are taken in
 * order, so that where one was taken all were that had been found in front of it.
 */
function passedBy(
  plan: ClaimPlan,
  taken: ReadonlyMap<string, readonly ClaimedRow[]>,
): (row: ProbeRow) => boolean {
  const furthest = new Map<string, number>()
  for (const row of plan.rows) {
    if (!taken.has(probeKey(row.queue, row.level, row.lane))) continue
    const key = `${row.lane} ${row.queue}`
    furthest.set(key, Math.max(furthest.get(key) ?? -1, orderOf(row)))
  }
  // What has no places comes first.
  return (row) =>
    row.places === undefined && orderOf(row) < (furthest.get(`${row.lane} ${row.queue}`) ?? -1)
}

function orderOf(row: ProbeRow): number {
  return row.places === undefined ? row.level : row.level + LEVELS.length
}

function inTurn(queues: readonly string[], turn: number): readonly string[] {
  const first = queues.length === 0 ? 0 : turn % queues.length
  return [...queues.slice(first), ...queues.slice(0, first)]
}

function groupByProbe(
  claimed: readonly ClaimedRow[],
  lanes: readonly KindLane[],
): ReadonlyMap<string, readonly ClaimedRow[]> {
  const laneOfKind = new Map(
    lanes.flatMap((lane, index) => lane.kinds.map((kind) => [kind, index] as const)),
  )
  const groups = new Map<string, ClaimedRow[]>()
  for (const row of claimed) {
    const key = probeKey(row.queue, row.priority, laneOfKind.get(row.kind) ?? -1)
    const group = groups.get(key)
    if (group === undefined) groups.set(key, [row])
    else group.push(row)
  }
  return groups
}

function probeKey(queue: string, level: number, lane: number): string {
  return `${level} ${lane} ${queue}`
}
