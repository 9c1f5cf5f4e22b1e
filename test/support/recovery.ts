import { recoverer } from '../../src/worker/recover.ts'
import type { RecovererOptions } from '../../src/worker/recover.ts'
import { roster } from '../../src/worker/roster.ts'
import { executorOn } from './executor.ts'
import { NOON } from './mill.ts'
import type { Setup } from './mill.ts'

/** A recoverer alone, on its own connection, at two seconds past noon. */
export async function recovery(
  bench: Setup,
  change: (options: RecovererOptions) => Partial<RecovererOptions> = () => ({}),
): Promise<AsyncDisposable & { sweep(): Promise<number | null> }> {
  const here = await executorOn(bench)
  const clock = { ...here.clock, now: () => NOON + 2_000 }
  const options: RecovererOptions = {
    worker: 'me',
    clock,
    lane: here.lane('maintenance'),
    roster: roster(),
    strays: {
      begin: () => undefined,
      answered: () => undefined,
      lost: () => undefined,
      isUnderWay: () => false,
      returnAll: async () => undefined,
      areSought: false,
    },
    everyMs: () => 10_000,
    doubts: () => 0,
    hintUntil: () => '-infinity',
    onFailure: (error) => {
      throw error
    },
  }
  const { sweep } = recoverer({ ...options, ...change(options) })
  return { sweep, [Symbol.asyncDispose]: here.close }
}
