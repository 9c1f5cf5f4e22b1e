import type { Executor } from '../database/executor.ts'
import { repeat } from '../database/repeat.ts'
import { lockLivingLease } from './handle-statements.ts'
import { settledRuns, settleRun } from './settle-statements.ts'
import type { SettledRow } from './settle-statements.ts'
import { tellSettled } from './told-runs.ts'
import type { Settlement } from './settle.ts'

/**
 * A settlement that is refused past the end of the lease (L4, strict): the lease is locked while it
 * lives, and settled in the same transaction. A commit whose answer was lost is looked up (M8), since
 * it did apply if it is recorded, however late the answer is.
 */
export interface StrictSettlementOptions {
  readonly worker: string
  readonly executor: Executor
  readonly hintUntil: () => string
  readonly signal: AbortSignal
  /** Told of what was settled, once it is committed. */
  readonly onSettled: (rows: readonly SettledRow[]) => void
}

export function settleStrictly(
  { fate, leaseEndsAt }: Settlement,
  { worker, executor, hintUntil, signal, onSettled }: StrictSettlementOptions,
): Promise<boolean> {
  const lane = executor.lane('settle handle')
  const { id, run } = fate

  async function isRecorded(): Promise<boolean> {
    return (await lane.run(settledRuns, { runs: JSON.stringify([{ id, run }]), worker })).length > 0
  }

  async function settle(): Promise<boolean> {
    const settled = await lane.transaction(async (runner) => {
      if ((await runner.run(lockLivingLease, { id, run, worker })).length === 0) return []
      return runner.run(settleRun, {
        fates: JSON.stringify([fate]),
        follow_ups: '[]',
        worker,
        hint_until: hintUntil(),
      })
    })
    onSettled(settled)
    tellSettled(executor.events, settled)
    return settled.length > 0
  }

  return repeat(
    { clock: executor.clock, until: leaseEndsAt, signal },
    async (isUncertain) => (isUncertain && (await isRecorded())) || settle(),
  )
}
