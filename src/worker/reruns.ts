import type { Clock } from '../core/clock.ts'
import { bell } from '../core/wait.ts'
import type { Lane } from '../database/executor.ts'
import type { WakeHint } from '../database/hint.ts'
import { definitionOf } from '../jobs/definition.ts'
import type { JobKind } from '../jobs/kind.ts'
import { MOST_RELEASED, releaseReruns } from '../jobs/rerun-statements.ts'
import { freedKeys } from './freed-keys.ts'
import type { SettledRow } from './settle-statements.ts'

/**
 * Asks that wait for the running twin of their key (D1, rerun) are due when its run ends. Whoever
 * settles a run of a kind that may have such asks says so in a statement after it. A run may also end
 * by a cancel, a recovery, or a worker that died between the two; and an ask may be committed after
 * its twin has ended. So workers look each second while any ask waits, which they learn from the hint
 * that comes with it, or from a look now and then. Where none ever waits that look is all it costs.
 */
export interface Reruns {
  run(): Promise<void>
  hear(hint: WakeHint): void
  /** Runs were settled. */
  ended(rows: readonly SettledRow[]): void
  /** A run of this kind ended, of which no more is known. */
  endedOf(kind: string): void
  stop(): void
}

export interface RerunsOptions {
  readonly clock: Clock
  readonly lane: Lane
  /** What this worker handles. */
  readonly kinds: readonly JobKind[]
  readonly isListening: () => boolean
  readonly hintUntil: () => string
  readonly onFailure: (error: unknown) => void
}

const WHILE_WAITING = 1_000
const NOW_AND_THEN = 300_000

export function reruns(options: RerunsOptions): Reruns {
  const { clock, lane, isListening, hintUntil } = options
  const alarm = bell(clock)
  const kinds = new Set(options.kinds.filter(mayRerun).map(({ name }) => name))
  // A producer's definition may say more than the worker's, so one that was seen to wait counts too.
  const mayWait = (kind: string): boolean => isWaiting || kinds.has(kind)
  const freed = freedKeys({ lane, mayWait, hintUntil, onWaiting, onFailure: failed })
  let isWaiting = false
  let stopped = false

  async function run(): Promise<void> {
    while (!stopped) {
      await look().catch(failed)
      await alarm.wait(pause())
    }
    await freed.idle()
  }

  async function look(): Promise<void> {
    const [row] = await lane.run(releaseReruns, { hint_until: hintUntil() })
    isWaiting = row?.waiting === true
    if ((row?.released ?? 0) >= MOST_RELEASED) alarm.ring()
  }

  /** Without a listener the hint does not come. */
  function pause(): number {
    const isBlind = kinds.size > 0 && !isListening()
    return isWaiting || isBlind ? WHILE_WAITING : NOW_AND_THEN
  }

  function onWaiting(): void {
    if (!isWaiting) alarm.ring()
  }

  function failed(error: unknown): void {
    isWaiting = true
    options.onFailure(error)
  }

  return {
    run,
    hear({ type }) {
      if (type === 'rerun' || type === 'resync') alarm.ring()
    },
    ended: freed.ended,
    endedOf(kind) {
      if (mayWait(kind)) alarm.ring()
    },
    stop() {
      stopped = true
      alarm.ring()
    },
  }
}

function mayRerun(kind: JobKind): boolean {
  const mode = definitionOf(kind).dedup?.mode
  return mode?.type === 'live' && mode.rerun
}
