import { DatabaseError } from '../../errors.ts'
import type { Query, Row, Session, TransactionSession } from '../database.ts'
import { within } from './deadline.ts'
import { OpenTransaction } from './open-transaction.ts'
import { endsSession, isUnprepared } from './sqlstates.ts'
import { disconnected, translateError } from './translate-error.ts'
import type { Circumstances } from './translate-error.ts'
import type { TakeTurn } from './turns.ts'
import type { Wire } from './wire.ts'

/**
 * A session over a library's connection. One thing at a time: a query, or a whole transaction,
 * holds the connection until it is done, so answers cannot be mixed up and a connection that fails
 * fails one statement. Whatever ends the connection (an answer that says so, a socket error, a
 * query without an answer in time) ends the session for good; what waited behind was never sent
 * and may be repeated.
 */
export function sessionOn(wire: Wire, options: WireSessionOptions): Session {
  return new WireSession(wire, options)
}

export interface WireSessionOptions {
  readonly takeTurn: TakeTurn
  readonly timeoutMs: number
  /** What begins a transaction. Default: READ COMMITTED, and nothing else. */
  readonly begin?: string | undefined
  /** A statement alone is a transaction, too, with what its `begin` says. Default false. */
  readonly isBracketed?: boolean | undefined
}

const BEGIN = 'begin isolation level read committed'

class WireSession implements Session {
  readonly #wire: Wire
  readonly #takeTurn: TakeTurn
  readonly #timeoutMs: number
  readonly #begin: string
  readonly #isBracketed: boolean
  #last: Promise<unknown> = Promise.resolve()
  #closing: Promise<void> | undefined
  #wentSilent = false

  constructor(wire: Wire, options: WireSessionOptions) {
    this.#wire = wire
    this.#takeTurn = options.takeTurn
    this.#timeoutMs = options.timeoutMs
    this.#begin = options.begin ?? BEGIN
    this.#isBracketed = options.isBracketed ?? false
  }

  query(query: Query): Promise<readonly Row[]> {
    return this.#turn(() => this.#once(query).catch((error) => this.#unprepared(error, query)))
  }

  execute(text: string): Promise<void> {
    return this.#turn(() => this.#ask('execute', true, (wire) => wire.execute(text)))
  }

  transaction<T>(work: (transaction: TransactionSession) => Promise<T>): Promise<T> {
    return this.#turn(() => this.#transact(work))
  }

  get isLost(): boolean {
    return this.#wire.isGone
  }

  get wentSilent(): boolean {
    return this.#wentSilent
  }

  close(): Promise<void> {
    this.#closing ??= this.#last.then(() => this.#wire.end())
    return this.#closing
  }

  giveUp(): void {
    this.#wire.destroy()
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  async #turn<T>(work: () => Promise<T>): Promise<T> {
    if (this.#closing !== undefined) throw closedError()
    const turn = this.#takeTurn(work)
    this.#last = turn.catch(() => {})
    return turn
  }

  #once(query: Query): Promise<readonly Row[]> {
    if (this.#isBracketed) return this.#transact((transaction) => transaction.query(query))
    return this.#ask(query.name, true, (wire) => wire.query(query))
  }

  // Behind a pooler the statement may have been prepared on another connection than this one, or on
  // this one by somebody else. It was not begun, and is sent once more, as all that follow, unprepared.
  #unprepared(error: unknown, query: Query): Promise<readonly Row[]> {
    if (!(error instanceof DatabaseError) || !isUnprepared(error.sqlstate)) throw error
    return this.#once(query)
  }

  async #transact<T>(work: (transaction: TransactionSession) => Promise<T>): Promise<T> {
    const transaction = new OpenTransaction((name, send) => this.#ask(name, false, send))
    await this.#bracket(this.#begin)
    try {
      const result = await work(transaction)
      await transaction.finish()
      await this.#bracket('commit')
      return result
    } catch (error) {
      await transaction.abandon()
      await this.#rollback()
      throw error
    }
  }

  async #bracket(text: string): Promise<void> {
    if (this.#wire.isTransactional === true) return
    const name = text.split(' ', 1)[0] ?? text
    await this.#ask(name, name === 'commit', (wire) => wire.execute(text))
  }

  // Without an answer to the rollback nobody knows what state the connection is in.
  async #rollback(): Promise<void> {
    if (this.#wire.isGone) return
    try {
      await this.#bracket('rollback')
    } catch {
      this.#wire.destroy()
    }
  }

  // A library may report a broken socket in words that nobody knows (TLS has its own).
  #failure(error: unknown, circumstances: Circumstances): DatabaseError {
    const failure = translateError(error, circumstances)
    const isUnheardOf = failure.sqlstate === null && !failure.retryable
    return isUnheardOf && this.#wire.isGone ? disconnected(error, circumstances) : failure
  }

  async #ask<T>(
    statement: string,
    mayHaveApplied: boolean,
    send: (wire: Wire) => Promise<T>,
  ): Promise<T> {
    if (this.#wire.isGone) throw lostError(statement)
    try {
      const late = () => {
        this.#wentSilent = true
        return timeoutError(statement, this.#timeoutMs, mayHaveApplied)
      }
      return await within(this.#timeoutMs, send(this.#wire), late)
    } catch (error) {
      const failure = this.#failure(error, { statement, mayHaveApplied })
      if (isTheEnd(failure)) this.#wire.destroy()
      if (isUnprepared(failure.sqlstate)) this.#wire.prepareNoMore?.()
      throw failure
    }
  }
}

function isTheEnd({ sqlstate, retryable }: DatabaseError): boolean {
  return sqlstate === null ? retryable : endsSession(sqlstate)
}

function timeoutError(
  statement: string,
  timeoutMs: number,
  mayHaveApplied: boolean,
): DatabaseError {
  return new DatabaseError(
    `statement ${statement} had no answer after ${timeoutMs} ms, so its connection was given up. ` +
      'Look for locks and load on the server (pg_stat_activity); the next call connects again.',
    { sqlstate: null, statement, retryable: true, outcomeUnknown: mayHaveApplied },
  )
}

function lostError(statement: string): DatabaseError {
  const why = new Error('the connection was lost before it was sent')
  return disconnected(why, { statement, mayHaveApplied: false })
}

function closedError(): DatabaseError {
  return new DatabaseError('this session is closed; connect() a new one', {
    sqlstate: null,
    statement: null,
    retryable: false,
    outcomeUnknown: false,
  })
}
