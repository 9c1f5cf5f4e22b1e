import { randomBytes } from 'node:crypto'
import type pg from 'pg'
import { DatabaseError } from '../../errors.ts'

/**
 * The schema of one bench. Its name is new, and a schema of that name is never taken over: it is made
 * by a plain `create schema`, which fails if there is one. So what is dropped at the end is what was
 * made at the begin, and nothing else. A bench that is killed leaves it behind, with a comment that
 * says what it is.
 */
export interface OwnSchema extends AsyncDisposable {
  readonly name: string
}

export async function makeSchema(database: string): Promise<OwnSchema> {
  const name = `millrace_bench_${randomBytes(6).toString('hex')}`
  // One message, so one transaction: it is there with its comment, or not at all.
  const make = `create schema ${name}; comment on schema ${name} is '${MARK}'`
  await onServer(database, (client) => client.query(make)).catch((cause: unknown) => {
    throw failed(`the schema "${name}" could not be made`, cause, GIVE_CREATE)
  })
  return {
    name,
    async [Symbol.asyncDispose]() {
      const drop = `drop schema ${name} cascade`
      await onServer(database, (client) => client.query(drop)).catch((cause: unknown) => {
        throw failed(`the schema "${name}" is still there`, cause, `Drop it by hand: ${drop}`)
      })
    },
  }
}

/** On a connection of its own: one that was kept for later may be gone when it is needed. */
export async function onServer<T>(
  database: string,
  work: (client: pg.Client) => Promise<T>,
): Promise<T> {
  const { Client } = await import('pg')
  const client = new Client({ connectionString: database })
  // Told by the query that fails with it; without a listener it would end the process.
  client.on('error', () => undefined)
  await client.connect()
  try {
    return await work(client)
  } finally {
    await client.end()
  }
}

const MARK = 'Made by millrace bench, which drops it at its end. If no bench runs, drop it.'
const GIVE_CREATE =
  'Give the role CREATE on the database, or name another database with --database.'

function failed(what: string, cause: unknown, cure: string): DatabaseError {
  const why = cause instanceof Error ? cause.message : String(cause)
  const facts = { sqlstate: null, statement: null, retryable: false, outcomeUnknown: false }
  return new DatabaseError(`${what}: ${why}. ${cure}`, facts, { cause })
}
