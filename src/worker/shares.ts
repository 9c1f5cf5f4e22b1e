import type { ClaimedRow, ProbeRow } from './claim-statements.ts'
import type { Levels } from './levels.ts'
import type { ClaimPlan } from './probes.ts'
import { placesByRank } from './rotation.ts'

/**
 * A claim in which the levels of a queue take turns (C3): each level that waits is asked for what is
 * reserved for it and no more, so that few rows are locked in vain. What a level does not give is
 * asked for by the next claim, at once, without that level. A level better than all that were known
 * to wait is asked for everything, first: what is urgent waits for no look.
 *
 * Only one queue takes turns in one claim, the first in turn that has to: those before it come
 * first as they are, those behind it wait for the next claim.
 */
export function withShares(
  plan: ClaimPlan,
  state: { readonly levels: Levels; readonly ratio: number },
): ClaimPlan {
  for (const [queue, rows] of byQueue(plan.rows)) {
    const shares = sharesOf(queue, rows, state)
    if (shares === null) continue
    const turn = rows[0]?.turn ?? 0
    const before = plan.rows.filter((row) => row.turn < turn)
    const own = rows.flatMap((row) => shared(row, shares))
    return { rows: [...before, ...own], mustCount: true, shared: { queue, shares } }
  }
  return plan
}

/**
 * Rows in the order of their levels, put into that of their places; those of the other queues of the
 * claim, and of better levels than were known to wait, stay in front.
 */
export function inPlaces(
  rows: readonly ClaimedRow[],
  { queue, shares }: SharedQueue,
): readonly ClaimedRow[] {
  const given = new Map<number, number>()
  const placed = rows.map((row) => {
    const places = row.queue === queue ? shares.get(row.priority) : undefined
    if (places === undefined) return { row, place: 0 }
    const nth = given.get(row.priority) ?? 0
    given.set(row.priority, nth + 1)
    return { row, place: places[nth] ?? Number.POSITIVE_INFINITY }
  })
  return placed.toSorted((a, b) => orderOf(a.place, b.place)).map(({ row }) => row)
}

function orderOf(a: number, b: number): number {
  return a === b ? 0 : a - b
}

/** Takes levels that gave less than was reserved for them, in a claim that was not filled, for empty. */
export function forgetEmpty(plan: ClaimPlan, claimed: readonly ClaimedRow[], levels: Levels): void {
  if (plan.shared === null) return
  const { queue, shares } = plan.shared
  for (const [level, places] of shares) {
    const given = claimed.filter((row) => row.queue === queue && row.priority === level)
    if (given.length < places.length) levels.forget(queue, level)
  }
}

/** A queue whose levels take turns in a claim, with the places of each level. */
export interface SharedQueue {
  readonly queue: string
  readonly shares: Shares
}

/** The places of each level that waits; null where all of them are the best one's. */
function sharesOf(
  queue: string,
  rows: readonly ProbeRow[],
  { levels, ratio }: { readonly levels: Levels; readonly ratio: number },
): Shares | null {
  const waiting = levels.waitingIn(queue)
  if (waiting.length < 2) return null
  const ranks = placesByRank({
    filled: levels.filledBy(queue),
    free: rows[0]?.queue_most ?? 0,
    ratio,
    ranks: waiting.length,
  })
  if (ranks.slice(1).every((places) => places.length === 0)) return null
  return new Map(waiting.map((level, rank) => [level, ranks[rank] ?? []]))
}

export type Shares = ReadonlyMap<number, readonly number[]>

function shared(row: ProbeRow, shares: Shares): readonly ProbeRow[] {
  const places = shares.get(row.level)
  if (places === undefined) return row.level < Math.min(...shares.keys()) ? [row] : []
  if (places.length === 0) return []
  return [{ ...row, most: Math.min(row.most, places.length), places }]
}

function byQueue(rows: readonly ProbeRow[]): ReadonlyMap<string, readonly ProbeRow[]> {
  const groups = new Map<string, ProbeRow[]>()
  for (const row of rows) {
    const group = groups.get(row.queue)
    if (group === undefined) groups.set(row.queue, [row])
    else group.push(row)
  }
  return groups
}
