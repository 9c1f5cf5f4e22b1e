import { arrayText } from '../core/array-text.ts'
import { bell } from '../core/wait.ts'
import type { Lane } from '../database/executor.ts'
import { halving } from '../database/halving.ts'
import type { Wakeups } from '../database/wakeups.ts'
import { dueFire, fireKeyed, firePlain } from './fire.ts'
import type { Firing } from './fire.ts'
import type { FireRow } from './fire-statements.ts'
import { soonestSchedules } from './statements.ts'
import type { ScheduleRow } from './statements.ts'

/**
 * Every worker fires whatever is due; none leads. It sleeps until the soonest boundary that it has
 * seen, and looks again when a hint says that a schedule changed, and from time to time, since
 * hints are only hints. Asleep too short it finds nothing due and sleeps again.
 */
export interface FireLoop {
  run(): Promise<void>
  stop(): void
}

export interface FireLoopOptions extends Firing {
  readonly lane: Lane
  readonly wakeups: Pick<Wakeups, 'subscribe' | 'isListening'>
  readonly onFailure: (error: unknown) => void
}

const MOST = 100
// Of one statement.
const MOST_ASKS = 1_000
const HEARD_EVERY = 30_000
// Where there is none, the hint that comes with the first is all there is to wait for.
const WHILE_NONE = 120_000
const BLIND_EVERY = 1_000
// Whoever holds a schedule that is due is firing it: a moment later it has, or has died.
const WHILE_HELD = 50

export function fireLoop(options: FireLoopOptions): FireLoop {
  const { executor, lane, wakeups, kinds, onFailure } = options
  const { clock } = executor
  const alarm = bell(clock)
  const names = arrayText([...kinds.keys()])
  let stopped = false

  async function run(): Promise<void> {
    const unsubscribe = wakeups.subscribe(({ type }) => {
      if (type === 'schedules' || type === 'resync') alarm.ring()
    })
    while (!stopped) {
      const pause = await pass().catch(failed)
      if (!stopped) await alarm.wait(pause)
    }
    unsubscribe()
  }

  /** Fires what is due, and answers how long to sleep. */
  async function pass(): Promise<number> {
    const rows = await lane.run(soonestSchedules, { kinds: names, most: MOST })
    const now = clock.now()
    const due = rows.filter((row) => isDue(row, now))
    const later = rows.filter((row) => !isDue(row, now))
    if (rows.length === 0) return longest(WHILE_NONE)
    if (due.length === 0) return Math.min(untilSoonest(later, now), longest())
    const { fired, failures } = await fire(due, now)
    if (fired === due.length) return 0
    return Math.min(untilSoonest(later, now), failures === 0 ? WHILE_HELD : BLIND_EVERY)
  }

  // Decided a batch at a time: a thousand missed boundaries take a fifth of a second to find, and
  // runs of this process must be able to go on in between.
  async function fire(rows: readonly ScheduleRow[], now: number): Promise<Fired> {
    const done = { fired: 0, failures: 0 }
    const failedOne = (schedule: string, error: unknown): undefined => {
      done.failures += 1
      onFailure(named(schedule, error))
    }
    const plain = rows.filter((row) => row.dedup_key === null)
    const keyed = rows.filter((row) => row.dedup_key !== null)
    for (const some of batchesOf(decided(plain, now, failedOne))) {
      done.fired += await fireBatch(some, failedOne)
    }
    for (const one of decided(keyed, now, failedOne)) {
      if (stopped) break
      const results = await fireKeyed(one, options).catch((error: unknown) =>
        failedOne(one.schedule, error),
      )
      if (results !== undefined) done.fired += 1
    }
    return done
  }

  async function fireBatch(
    fires: readonly FireRow[],
    failedOne: (schedule: string, error: unknown) => void,
  ): Promise<number> {
    const moved = new Set<string>()
    await halving(
      fires,
      async (some) => {
        for (const { schedule } of await firePlain(some, lane, options)) moved.add(schedule)
      },
      ({ schedule }, error) => failedOne(schedule, error),
    )
    return moved.size
  }

  function longest(whileHeard: number = HEARD_EVERY): number {
    return wakeups.isListening ? whileHeard : BLIND_EVERY
  }

  function failed(error: unknown): number {
    onFailure(error)
    return BLIND_EVERY
  }

  return {
    run,
    stop() {
      stopped = true
      alarm.ring()
    },
  }
}

interface Fired {
  readonly fired: number
  readonly failures: number
}

/** One after another as they are asked for; a pattern that this release cannot read any more holds up no other. */
function* decided(
  rows: readonly ScheduleRow[],
  now: number,
  failed: (schedule: string, error: unknown) => void,
): Generator<FireRow, void> {
  for (const row of rows) {
    const fire = attempt(() => dueFire(row, now))
    if ('error' in fire) failed(row.schedule, fire.error)
    else yield fire.value
  }
}

function* batchesOf(fires: Iterable<FireRow>): Generator<readonly FireRow[], void> {
  let batch: FireRow[] = []
  let asks = 0
  for (const fire of fires) {
    batch.push(fire)
    asks += fire.asks.length
    if (asks < MOST_ASKS) continue
    yield batch
    batch = []
    asks = 0
  }
  if (batch.length > 0) yield batch
}

type Attempt<T> = { readonly value: T } | { readonly error: unknown }

function attempt<T>(work: () => T): Attempt<T> {
  try {
    return { value: work() }
  } catch (error) {
    return { error }
  }
}

function isDue({ next_fire_at: at }: ScheduleRow, now: number): boolean {
  return at !== null && at <= now
}

function untilSoonest(rows: readonly ScheduleRow[], now: number): number {
  return Math.max(1, (rows[0]?.next_fire_at ?? Number.POSITIVE_INFINITY) - now)
}

function named(schedule: string, cause: unknown): Error {
  const why = cause instanceof Error ? cause.message : String(cause)
  return new Error(`schedule ${JSON.stringify(schedule)}: ${why}`, { cause })
}
