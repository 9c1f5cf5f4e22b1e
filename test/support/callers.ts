import { PGlite } from '@electric-sql/pglite'
import postgres from 'postgres'
import { connect } from '../../src/client.ts'
import type { Mill } from '../../src/mill.ts'
import { engineFor } from '../../src/database/connect.ts'
import type { Database } from '../../src/database/connect.ts'
import { namespace } from '../../src/database/namespace.ts'
import type { Producer } from '../../src/jobs/producer.ts'
import { openSettings } from '../../src/open-options.ts'
import { databaseOfFile, setup } from './mill.ts'

/** An application with a database library of its own, and a client beside it. */
export interface Caller extends AsyncDisposable {
  readonly mill: Mill
  /** Runs `work` in a transaction of the library; what `work` throws rolls it back. */
  transaction(work: (inside: Inside) => Promise<void>): Promise<void>
  rows(text: string): Promise<readonly Record<string, unknown>[]>
  /** Payloads heard on the client's channel. */
  readonly heard: readonly string[]
  /** Says something on the channel, from outside of any transaction. */
  say(payload: string): Promise<void>
}

export interface Inside {
  readonly producer: Producer
  /** Runs a statement of the application in its transaction. */
  run(text: string): Promise<unknown>
}

export const CALLERS: readonly (readonly [name: string, open: () => Promise<Caller>])[] = [
  ['a pg client', pgCaller],
  ['a postgres.js transaction', postgresJsCaller],
  ['a PGlite transaction', pgliteCaller],
]

async function pgCaller(): Promise<Caller> {
  const t = await setup()
  const caller = await t.session()
  const heard: string[] = []
  const { channel } = namespace(t.schema)
  await t.sql.query(`listen ${channel}`)
  t.sql.on('notification', ({ payload = '' }) => heard.push(payload))
  return {
    mill: t.mill,
    async transaction(work) {
      await caller.query('begin')
      try {
        await work({ producer: t.mill.in(caller), run: (text) => caller.query(text) })
        await caller.query('commit')
      } catch (error) {
        await caller.query('rollback')
        throw error
      }
    },
    async rows(text) {
      return (await t.sql.query<Record<string, unknown>>(text)).rows
    },
    heard,
    async say(payload) {
      await caller.query('select pg_notify($1, $2)', [channel, payload])
    },
    [Symbol.asyncDispose]: () => t.close(),
  }
}

async function postgresJsCaller(): Promise<Caller> {
  const sql = postgres(await databaseOfFile(), { max: 2, onnotice: () => {} })
  const { schema } = namespace('t_postgres_js')
  const mill = await clientOf(sql, schema)
  const heard: string[] = []
  const { channel } = namespace(schema)
  await sql.listen(channel, (payload) => heard.push(payload))
  return {
    mill,
    async transaction(work) {
      await sql.begin((tx) => work({ producer: mill.in(tx), run: (text) => tx.unsafe(text) }))
    },
    rows: (text) => sql.unsafe(text.replace('from ', `from ${schema}.`)),
    heard,
    async say(payload) {
      await sql.notify(channel, payload)
    },
    async [Symbol.asyncDispose]() {
      await mill.close()
      await sql.unsafe(`drop schema ${schema} cascade`)
      await sql.end()
    },
  }
}

async function pgliteCaller(): Promise<Caller> {
  const database = await PGlite.create()
  const mill = await clientOf(database, 'millrace')
  const heard: string[] = []
  const { channel } = namespace()
  await database.listen(channel, (payload) => heard.push(payload))
  return {
    mill,
    async transaction(work) {
      await database.transaction((tx) =>
        work({ producer: mill.in(tx), run: (text) => tx.query(text) }),
      )
    },
    async rows(text) {
      const named = text.replace('from ', 'from millrace.')
      return (await database.query<Record<string, unknown>>(named)).rows
    },
    heard,
    async say(payload) {
      await database.query('select pg_notify($1, $2)', [channel, payload])
    },
    async [Symbol.asyncDispose]() {
      await mill.close()
      await database.close()
    },
  }
}

async function clientOf(database: Database, schema: string): Promise<Mill> {
  const settings = openSettings({ schema, migrate: 'auto', logger: false }, false)
  return connect(await engineFor(database), settings)
}
