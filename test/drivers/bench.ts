import { expect } from 'vitest'
import type { Engine, Query, Session, SessionOptions, Value } from '../../src/database/database.ts'
import { DatabaseError } from '../../src/errors.ts'

/** The engine under test, and a session on it in a database where table `taken` is. */
export interface Bench {
  readonly engine: Engine
  readonly session: Session
}

export const OPTIONS: SessionOptions = { purpose: 'conformance', timeoutMs: 10_000 }

export function query(text: string, values: readonly Value[] = [], name = 'conformance'): Query {
  return { name, text, values }
}

/** The error of a promise that has to reject with a DatabaseError. */
export async function failure(promise: Promise<unknown>): Promise<DatabaseError> {
  const error: unknown = await promise.then(
    () => new Error('it did not reject'),
    (reason: unknown) => reason,
  )
  expect(error).toBeInstanceOf(DatabaseError)
  if (!(error instanceof DatabaseError)) throw error
  return error
}

/** The ids in `taken`. */
export async function takenIds(session: Session): Promise<unknown[]> {
  const rows = await session.query(query('select id from public.taken order by id'))
  return rows.map((row) => row['id'])
}
