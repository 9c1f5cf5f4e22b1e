import type { Duration } from '../core/duration.ts'
import { milliseconds } from '../core/duration.ts'
import { checkName, checkOptions } from '../core/names.ts'
import { InvalidOptionError } from '../errors.ts'

export interface LockOptions {
  /**
   * How long the lock lasts without a renewal, and how long others wait for it after this process
   * died. Longer than any pause of the process that should be borne: of garbage collection, of a
   * stopped container.
   */
  ttl: Duration
  /** Renew it at a third of `ttl` for as long as it is not released. Default true. */
  renew?: boolean | undefined
}

export interface LockWaitOptions extends LockOptions {
  /** How long to wait at most; then `LockWaitError`. Default without end. */
  wait?: Duration | undefined
  /** Ends the waiting with its reason; the lock itself is not bound to it. */
  signal?: AbortSignal | undefined
}

export interface LockSettings {
  readonly name: string
  readonly ttlMs: number
  readonly renews: boolean
}

export interface LockWaitSettings extends LockSettings {
  readonly waitMs: number | null
  readonly signal: AbortSignal | undefined
}

/** Throws `InvalidNameError` and `InvalidOptionError`. */
export function lockSettings(where: string, name: string, options: LockOptions): LockSettings {
  checkOptions(where, options, ['ttl', 'renew'])
  return settingsOf(name, options)
}

/** As `lockSettings`, for verbs that wait. */
export function lockWaitSettings(
  where: string,
  name: string,
  options: LockWaitOptions,
): LockWaitSettings {
  checkOptions(where, options, ['ttl', 'renew', 'wait', 'signal'])
  const { wait, signal } = options
  return {
    ...settingsOf(name, options),
    waitMs: wait === undefined ? null : milliseconds('wait', wait),
    signal,
  }
}

function settingsOf(name: string, { ttl, renew = true }: LockOptions): LockSettings {
  if (typeof renew !== 'boolean') {
    throw new InvalidOptionError('renew', renew, 'give true or false')
  }
  return { name: checkName('lock', name), ttlMs: milliseconds('ttl', ttl), renews: renew }
}
