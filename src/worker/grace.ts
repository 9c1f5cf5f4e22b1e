import type { Clock } from '../core/clock.ts'
import { wait } from '../core/wait.ts'

/** The time that runs have to end by themselves: over after `graceMs`, or when somebody is in a hurry. */
export function grace(
  clock: Clock,
  graceMs: number,
  hurry: AbortSignal,
): { readonly over: Promise<void>; readonly cancel: () => void } {
  const cancelled = new AbortController()
  const over = wait(clock, graceMs, AbortSignal.any([hurry, cancelled.signal]))
  return { over, cancel: () => cancelled.abort() }
}
