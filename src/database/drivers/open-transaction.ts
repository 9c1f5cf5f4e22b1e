import { DatabaseError } from '../../errors.ts'
import type { Query, Row, TransactionSession } from '../database.ts'
import { type TakeTurn, turns } from './turns.ts'
import type { Wire } from './wire.ts'

/** Sends one statement and answers, or rejects with a DatabaseError, for it alone. */
type Ask = <T>(statement: string, send: (wire: Wire) => Promise<T>) => Promise<T>

/**
 * The transaction while its work runs. PostgreSQL answers the commit of a failed transaction with
 * a rollback and no error: work that swallowed a statement's error would be told "committed". So
 * after a failed statement the transaction is asked whether it still stands (a savepoint may have
 * mended it) before it is committed.
 */
export class OpenTransaction implements TransactionSession {
  readonly #ask: Ask
  readonly #takeTurn: TakeTurn = turns()
  #failure: DatabaseError | undefined
  #isOver = false

  constructor(ask: Ask) {
    this.#ask = ask
  }

  query(query: Query): Promise<readonly Row[]> {
    return this.#takeTurn(() => this.#noted(query.name, (wire) => wire.query(query)))
  }

  execute(text: string): Promise<void> {
    return this.#takeTurn(() => this.#noted('execute', (wire) => wire.execute(text)))
  }

  /** Waits for statements that nobody awaited; rejects when the transaction cannot be committed. */
  async finish(): Promise<void> {
    await this.abandon()
    if (this.#failure === undefined) return
    try {
      await this.#ask('check', (wire) => wire.execute('select 1'))
    } catch {
      throw this.#failure
    }
  }

  /** Takes no statement any more. */
  async abandon(): Promise<void> {
    await this.#takeTurn(async () => {
      this.#isOver = true
    })
  }

  async #noted<T>(statement: string, send: (wire: Wire) => Promise<T>): Promise<T> {
    if (this.#isOver) throw overError(statement)
    try {
      return await this.#ask(statement, send)
    } catch (error) {
      if (error instanceof DatabaseError) this.#failure ??= error
      throw error
    }
  }
}

function overError(statement: string): DatabaseError {
  return new DatabaseError(
    `statement ${statement} came after the end of its transaction. Await every statement inside it.`,
    { sqlstate: null, statement, retryable: false, outcomeUnknown: false },
  )
}
