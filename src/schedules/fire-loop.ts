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
const HEARD_EVERY = 30_000
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
    if (due.length === 0) return Math.min(untilSoonest(later, now), longest())
    const { fired, failures } = await fire(due, now)
    if (fired === due.length) return 0
    return Math.min(untilSoonest(later, now), failures === 0 ? WHILE_HELD : BLIND_EVERY)
  }

  async function fire(rows: readonly ScheduleRow[], now: number): Promise<Fired> {
    const done = { fired: 0, failures: 0 }
    const failedOne = (schedule: string, error: unknown): undefined => {
      done.failures += 1
      onFailure(named(schedule, error))
    }
    const { plain, keyed } = planned(rows, now, failedOne)
    await halving(
      plain,
      async (some) => {
        const moved = await firePlain(some, lane, options)
        done.fired += new Set(moved.map(({ schedule }) => schedule)).size
      },
      ({ schedule }, error) => failedOne(schedule, error),
    )
    for (const one of keyed) {
      if (stopped) break
      const results = await fireKeyed(one, options).catch((error: unknown) =>
        failedOne(one.schedule, error),
      )
      if (results !== undefined) done.fired += 1
    }
    return done
  }

  function longest(): number {
    return wakeups.isListening ? HEARD_EVERY : BLIND_EVERY
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

interface Planned {
  readonly plain: readonly FireRow[]
  readonly keyed: readonly FireRow[]
}

/** A pattern that this release cannot read any more holds up no other. */
function planned(
  rows: readonly ScheduleRow[],
  now: number,
  failed: (schedule: string, error: unknown) => void,
): Planned {
  const plain: FireRow[] = []
  const keyed: FireRow[] = []
  for (const row of rows) {
    try {
      const kept = row.dedup_key === null ? plain : keyed
      kept.push(dueFire(row, now))
    } catch (error) {
      failed(row.schedule, error)
    }
  }
  return { plain, keyed }
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
