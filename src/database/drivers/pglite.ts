import { DatabaseError } from '../../errors.ts'
import type { Engine, ListenHandlers, Listening, Session, SessionOptions } from '../database.ts'
import { connectionTo, type PgliteConnection, type PgliteTarget } from './pglite-connection.ts'
import { listenOnPglite } from './pglite-listening.ts'
import { sessionOn } from './session.ts'

/**
 * The engine over PGlite, PostgreSQL in this process: one connection, shared by all sessions and,
 * when the caller brought the instance, with the caller. Statements take turns. There are no
 * timeouts, since a query blocks the process while it runs; what can last is the wait for a
 * transaction that somebody holds, and that is limited to WAIT_LIMIT.
 *
 * On the caller's instance each turn is a transaction of PGlite's own, which keeps us out of his,
 * and plans are pinned by `set local`, which never reaches his statements. So what PostgreSQL
 * refuses inside a transaction (`vacuum`) works only on an instance of ours.
 */
export function pgliteEngine(target: PgliteTarget): Engine {
  return new PgliteEngine(target)
}

class PgliteEngine implements Engine {
  readonly driver = 'pglite'
  readonly isSingleConnection = true
  readonly #target: PgliteTarget
  #connection: Promise<PgliteConnection> | undefined
  #closing: Promise<void> | undefined

  constructor(target: PgliteTarget) {
    this.#target = target
  }

  async connect(_options: SessionOptions): Promise<Session> {
    const { wire, takeTurn } = await this.#connected()
    return sessionOn(wire, { takeTurn, timeoutMs: Number.POSITIVE_INFINITY })
  }

  async listen(channel: string, handlers: ListenHandlers): Promise<Listening> {
    return listenOnPglite(await this.#connected(), channel, handlers)
  }

  close(): Promise<void> {
    this.#closing ??=
      this.#connection?.then((connection) => connection.close()) ?? Promise.resolve()
    return this.#closing
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  // The instance starts with the first session. A start that failed is tried again by the next one.
  #connected(): Promise<PgliteConnection> {
    if (this.#closing !== undefined) return Promise.reject(closedError())
    this.#connection ??= connectionTo(this.#target).catch((error: unknown) => {
      this.#connection = undefined
      throw error
    })
    return this.#connection
  }
}

function closedError(): DatabaseError {
  return new DatabaseError('this engine is closed; open() a new client', {
    sqlstate: null,
    statement: null,
    retryable: false,
    outcomeUnknown: false,
  })
}
