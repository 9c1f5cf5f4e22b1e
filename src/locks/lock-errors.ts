import { MillraceError, shown } from '../errors.ts'

/** The lock is not held any more: it ended before it was renewed, was released by hand, or its client was closed. */
export class LockLostError extends MillraceError {
  readonly code = 'LOCK_LOST'
  readonly lock: string
  /** The token it had; a later holder's is larger. */
  readonly token: number

  constructor(lock: string, token: number, options?: ErrorOptions) {
    super(
      `lock ${shown(lock)} with token ${token} is lost; another may hold it. Stop its work; what writes behind it must refuse older tokens. A longer \`ttl\` bears longer pauses.`,
      options,
    )
    this.lock = lock
    this.token = token
  }
}

/** The lock did not become free within `wait`. */
export class LockWaitError extends MillraceError {
  readonly code = 'LOCK_WAIT'
  readonly lock: string
  readonly waitMs: number

  constructor(lock: string, waitMs: number) {
    super(
      `lock ${shown(lock)} was not free within ${waitMs} ms. Wait longer (\`wait\`), or see who holds it with mill.locks.list().`,
    )
    this.lock = lock
    this.waitMs = waitMs
  }
}
