import { Client } from 'pg'
import { open } from 'millrace'
import type { Database, OpenOptions } from 'millrace'
import { quoted } from '../../src/database/namespace.ts'
import { runSql } from '../support/sql.ts'
import type { Asking, Place } from './place.ts'

export interface ServerPlace extends OpenOptions {
  /** What the client is opened on: a pool, a `sql`. Default: `url`. */
  readonly database?: Database
  /** For the application's transactions; through a pooler where there is one. */
  readonly url: string
  /** To the server itself, as somebody who may read all. Default: `url`. */
  readonly direct?: string
  readonly hears?: boolean
}

/** A namespace on a server. */
export function serverPlace(given: ServerPlace): Place {
  const { database, url, direct = url, hears = true, ...options } = given
  const { schema = 'millrace', prefix = '' } = options
  return {
    open: () => open(database ?? url, { logger: false, ...options }),
    table: (name) => `${quoted(schema)}.${quoted(prefix + name)}`,
    look: (text) => runSql(direct, text),
    hears,
    transaction: (work) => inTransaction(url, work),
  }
}

async function inTransaction(url: string, work: (tx: Asking) => Promise<void>): Promise<void> {
  const client = new Client({ connectionString: url })
  client.on('error', () => undefined)
  await client.connect()
  try {
    await client.query('begin')
    await work(client)
    await client.query('commit')
  } finally {
    // What was not committed is rolled back with the session.
    await client.end()
  }
}
