import type { Runner } from '../database/executor.ts'
import type { EnqueueResult } from './job.ts'
import { throttleAsk } from './key-statements.ts'
import { folded, inserted, keyedRows } from './keyed-ask.ts'
import type { KeyedAsk } from './keyed-ask.ts'

export interface ThrottleContext {
  readonly hintUntil: () => string
  readonly askedAt: string
  readonly isUncertain: boolean
}

/**
 * An ask of a throttled key (D7): it takes the window, or is answered with the job that has it. The
 * window is a row of its own, so that it outlives its job. Null: the window was taken this moment,
 * by an ask that the statement could not see yet.
 */
export async function throttled(
  ask: KeyedAsk,
  runner: Runner,
  { hintUntil, askedAt, isUncertain }: ThrottleContext,
): Promise<EnqueueResult | null> {
  const { mode } = ask.keyed
  const [row] = await runner.run(throttleAsk, {
    asks: keyedRows([ask]),
    window_ms: mode.type === 'throttle' ? mode.windowMs : 0,
    asked_at: askedAt,
    hint_until: hintUntil(),
  })
  if (row === undefined) return null
  const isOwn = row.is_new || (isUncertain && row.created_at === Date.parse(askedAt))
  return isOwn ? inserted(ask) : folded(ask, row.job_id, 'kept')
}
