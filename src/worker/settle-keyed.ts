import type { Executor, Runner } from '../database/executor.ts'
import { limitLockWait } from '../database/lock-wait.ts'
import { repeat } from '../database/repeat.ts'
import type { Ask } from '../jobs/ask.ts'
import { passes } from './settle.ts'
import type { Settlement } from './settle.ts'
import { settledRuns, settleRun } from './settle-statements.ts'
import type { SettledRow } from './settle-statements.ts'
import { tellSettled } from './told-runs.ts'

/**
 * A settlement with follow-ups that have keys, or ids that the handler gave. Such an ask may meet a
 * job, or wait for an ask of its key or id that is not committed; so it goes in a transaction of its own, beside the batch that it would
 * hold up, waits for a lock a second at most, and is repeated (O5).
 */
export interface KeyedSettlementOptions {
  readonly worker: string
  readonly executor: Executor
  readonly writeAsks: (runner: Runner, asks: readonly Ask[]) => Promise<unknown>
  readonly hintUntil: () => string
  readonly signal: AbortSignal
  /** Told of what was settled, once it is committed; a lost answer tells nothing. */
  readonly onSettled: (rows: readonly SettledRow[]) => void
}

/** True when the fate was applied; then its follow-ups are there too. */
export function settleKeyed(
  { fate, followUps = [], leaseEndsAt }: Settlement,
  options: KeyedSettlementOptions,
): Promise<boolean> {
  const { worker, executor, writeAsks, hintUntil, signal, onSettled } = options
  const lane = executor.lane('settle keyed')

  async function isRecorded(): Promise<boolean> {
    const runs = JSON.stringify([{ id: fate.id, run: fate.run }])
    return (await lane.run(settledRuns, { runs, worker })).length > 0
  }

  async function settle(): Promise<boolean> {
    const settled = await lane.transaction(async (runner) => {
      await runner.run(limitLockWait, {})
      const [row] = await runner.run(settleRun, {
        fates: JSON.stringify([fate]),
        follow_ups: '[]',
        worker,
        hint_until: hintUntil(),
      })
      // A cancel that was asked meanwhile decides over a pause: then nothing follows.
      if (row?.outcome === fate.outcome) await writeAsks(runner, followUps)
      return row
    })
    if (settled === undefined) return false
    onSettled([settled])
    tellSettled(executor.events, [settled])
    return true
  }

  return repeat(
    { clock: executor.clock, until: leaseEndsAt, passes, signal },
    async (isUncertain) => (isUncertain && (await isRecorded())) || settle(),
  )
}
