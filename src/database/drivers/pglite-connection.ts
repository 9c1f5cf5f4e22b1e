import { DatabaseError } from '../../errors.ts'
import { PLAN_SETTINGS, type Row, type Value } from '../database.ts'
import { lockDirectory } from './directory-lock.ts'
import { translateError } from './translate-error.ts'
import { breathingTurns, patientTurns, type TakeTurn, turns } from './turns.ts'
import type { Wire } from './wire.ts'

/** What we need of a PGlite, or of a PGliteWorker. */
export interface Pglite extends PgliteQueryable {
  readonly waitReady: Promise<void>
  readonly closed: boolean
  transaction<T>(work: (transaction: PgliteQueryable) => Promise<T>): Promise<T>
  listen(
    channel: string,
    callback: (payload: string) => void,
    transaction?: PgliteQueryable,
  ): Promise<unknown>
  unlisten(
    channel: string,
    callback: (payload: string) => void,
    transaction?: PgliteQueryable,
  ): Promise<void>
  close(): Promise<void>
}

/** A PGlite or one of its transactions. */
export interface PgliteQueryable {
  query(text: string, values?: Value[]): Promise<{ readonly rows: readonly Row[] }>
  exec(text: string): Promise<unknown>
}

export type PgliteTarget =
  | { readonly memory: true }
  | { readonly directory: string }
  | { readonly instance: Pglite }

/** How long a statement waits for the one connection while another transaction holds it, in milliseconds. */
export const WAIT_LIMIT = 5_000

/** The one connection, and how to get at it. */
export interface PgliteConnection {
  readonly database: Pglite
  readonly wire: Wire
  readonly takeTurn: TakeTurn
  /** The transaction of the current turn, for PGlite's own methods; undefined on our own instance. */
  readonly transaction: () => PgliteQueryable | undefined
  close(): Promise<void>
}

export function connectionTo(target: PgliteTarget): Promise<PgliteConnection> {
  if ('instance' in target) return sharedConnection(target.instance)
  return 'directory' in target ? directoryConnection(target.directory) : ownConnection()
}

async function directoryConnection(directory: string): Promise<PgliteConnection> {
  const unlock = lockDirectory(directory)
  try {
    const connection = await ownConnection(directory)
    return { ...connection, close: () => connection.close().finally(unlock) }
  } catch (error) {
    unlock()
    throw error
  }
}

async function ownConnection(directory?: string): Promise<PgliteConnection> {
  const { PGlite } = await import('@electric-sql/pglite')
  const database: Pglite = new PGlite(directory === undefined ? {} : { dataDir: directory })
  await database.waitReady
  await database.exec(settingsText('set'))
  const takeTurn = breathingTurns(patientTurns(turns(), WAIT_LIMIT, waitError))
  return {
    database,
    takeTurn,
    transaction: () => undefined,
    wire: wireOn(database, () => database, false),
    // Behind what is under way; a transaction that never ends does not keep it open.
    close: () =>
      takeTurn(async () => {})
        .catch(() => {})
        .then(() => database.close()),
  }
}

async function sharedConnection(database: Pglite): Promise<PgliteConnection> {
  await database.waitReady
  let current: PgliteQueryable | undefined
  const enter: TakeTurn = async (turn) => {
    let failure: { readonly error: unknown } | undefined
    const work = async (transaction: PgliteQueryable) => {
      current = transaction
      await transaction.exec(settingsText('set local'))
      return turn().catch((error: unknown) => {
        failure = { error }
        throw error
      })
    }
    try {
      return await database.transaction(work)
    } catch (error) {
      if (failure !== undefined) throw failure.error
      throw translateError(error, { statement: 'transaction', mayHaveApplied: false })
    }
  }
  return {
    database,
    takeTurn: breathingTurns(patientTurns(enter, WAIT_LIMIT, waitError)),
    transaction: () => current,
    wire: wireOn(database, () => current ?? database, true),
    close: () => Promise.resolve(),
  }
}

function wireOn(database: Pglite, current: () => PgliteQueryable, isTransactional: boolean): Wire {
  return {
    isTransactional,
    async query({ text, values }) {
      const { rows } = await current().query(text, [...values])
      return rows
    },
    async execute(text) {
      await current().exec(text)
    },
    get isGone() {
      return database.closed
    },
    // It is everybody's: a session that ends leaves it open.
    destroy: () => {},
    end: () => Promise.resolve(),
  }
}

function settingsText(set: 'set' | 'set local'): string {
  const settings = Object.entries(PLAN_SETTINGS)
  return settings.map(([name, value]) => `${set} ${name} = ${value}`).join('; ')
}

function waitError(): DatabaseError {
  return new DatabaseError(
    `the embedded database has one connection, and a transaction has held it for ${WAIT_LIMIT} ms. ` +
      'In a transaction of your own use mill.in(tx), which runs inside it.',
    { sqlstate: null, statement: null, retryable: false, outcomeUnknown: false },
  )
}
