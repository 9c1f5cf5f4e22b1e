import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Engine, Session } from '../../src/database/database.ts'
import { nodePostgresEngine } from '../../src/database/drivers/node-postgres.ts'
import { postgresJsEngine } from '../../src/database/drivers/postgres-js.ts'
import { query } from '../drivers/bench.ts'
import postgres from 'postgres'
import { freshDatabase } from '../support/database.ts'
import type { FreshDatabase } from '../support/database.ts'
import { pgBouncerVersion, startPgBouncer } from '../support/pgbouncer.ts'
import type { PgBouncer } from '../support/pgbouncer.ts'
import { runSql } from '../support/sql.ts'

const OPTIONS = { purpose: 'test', timeoutMs: 10_000 }
const DRIVERS: readonly (readonly [string, (url: string) => Engine])[] = [
  ['node-postgres', (url) => nodePostgresEngine({ url })],
  ['postgres.js', (url) => postgresJsEngine(postgres(url))],
]

describe.skipIf(pgBouncerVersion() === undefined).each(DRIVERS)(
  'replays 29: %s behind PgBouncer',
  (_name, engineOn) => {
    let database: FreshDatabase
    let pooler: PgBouncer
    let odd: string

    beforeAll(async () => {
      database = await freshDatabase()
      odd = `odd_${database.name}`
      await runSql(
        database.url,
        `create role ${odd} login;
       alter role ${odd} set default_transaction_isolation = 'serializable';
       alter role ${odd} set datestyle = 'German';
       alter role ${odd} set statement_timeout = '20ms'`,
      )
      const settings = { default_pool_size: '2' }
      pooler = await startPgBouncer(database.url, { mode: 'transaction', roles: [odd], settings })
    })
    afterAll(async () => {
      await pooler?.[Symbol.asyncDispose]()
      await runSql(database.url, `drop role ${odd}`)
      await database.drop()
    })

    test('never runs a statement that another client prepared under its name', async () => {
      await using engine = engineOn(pooler.url)
      const [ours, theirs] = await Promise.all([engine.connect(OPTIONS), engine.connect(OPTIONS)])
      const mine = query('select $1::text as mine', ['x'], 'claim_jobs')
      const other = query('select $1::text as other', ['x'], 'claim_jobs')
      // Each on a connection of the server's of its own; then both on that which was free last.
      await theirs.transaction(async (transaction) => {
        await transaction.query(other)
        expect(await ours.query(mine)).toEqual([{ mine: 'x' }])
      })
      for (let round = 0; round < 3; round += 1) {
        expect(await ours.query(mine)).toEqual([{ mine: 'x' }])
        expect(await theirs.query(other)).toEqual([{ other: 'x' }])
      }
    })

    test('sends a statement once more, unprepared, that was prepared on another connection', async () => {
      await using engine = engineOn(pooler.url)
      const [one, other] = await Promise.all([engine.connect(OPTIONS), engine.connect(OPTIONS)])
      const ask = query('select $1::int4 as n', [1], 'numbered')
      const rows = await other.transaction(async () => one.query(ask))
      // Now it stands on that connection which `other` takes next, and not on the other one.
      expect(rows).toEqual([{ n: 1 }])
      await one.transaction(async () => {
        for (let round = 0; round < 3; round += 1)
          expect(await other.query(ask)).toEqual([{ n: 1 }])
      })
      for (let round = 0; round < 3; round += 1) expect(await one.query(ask)).toEqual([{ n: 1 }])
    })

    test('pins plans in transactions, and leaves nothing behind for others', async () => {
      await using engine = engineOn(pooler.url)
      const session = await engine.connect(OPTIONS)
      const inside = await session.transaction((transaction) => transaction.query(settings()))
      expect(inside).toMatchObject([{ isolation: 'read committed', seqscan: 'off', path: OWN }])
      expect(await session.query(settings())).toMatchObject([{ seqscan: 'on' }])
    })

    test('sends each statement of an odd role in a transaction that says what it means', async () => {
      const url = new URL(pooler.url)
      url.username = odd
      await using engine = engineOn(url.href)
      const session: Session = await engine.connect(OPTIONS)
      expect(await session.query(settings())).toEqual([
        { isolation: 'read committed', seqscan: 'off', path: OWN, day: '2024-02-01', slept: '' },
      ])
      const shared = await engine.connect({ ...OPTIONS, prepare: false, isShared: true })
      const [row] = await shared.transaction((transaction) => transaction.query(settings()))
      expect(row).toMatchObject({ path: '"$user", public', isolation: 'read committed' })
      await expect(session.query(query('select 1 / 0'))).rejects.toMatchObject({
        sqlstate: '22012',
        outcomeUnknown: false,
      })
      expect(await session.query(query('select 1 as one'))).toEqual([{ one: 1 }])
    })
  },
)

const OWN = 'pg_catalog, pg_temp'

function settings() {
  return query(
    `select current_setting('transaction_isolation') as isolation,
       current_setting('enable_seqscan') as seqscan, current_setting('search_path') as path,
       (date '2024-02-01')::text as day, pg_sleep(0.1)::text as slept`,
  )
}
