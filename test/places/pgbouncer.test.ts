import { randomUUID } from 'node:crypto'
import postgres from 'postgres'
import { expect, test } from 'vitest'
import { defineJob, open, verify } from 'millrace'
import { freshDatabase } from '../support/database.ts'
import { pgBouncerVersion, startPgBouncer } from '../support/pgbouncer.ts'
import type { PgBouncerOptions } from '../support/pgbouncer.ts'
import { runSql } from '../support/sql.ts'
import { until } from '../support/until.ts'
import { warningsInto } from '../support/warnings.ts'
import { ODD_SETTINGS } from './odd-settings.ts'
import { inFull } from './extent.ts'
import { live } from './life.ts'
import { serverPlace } from './server-place.ts'

const version = pgBouncerVersion()
if (version === undefined) {
  process.stdout.write('PgBouncer is not installed: its tests are skipped (Debian: pgbouncer)\n')
}
const keepsPrepared = version !== undefined && (version[0] > 1 || version[1] >= 21)

const KEEPING: PgBouncerOptions = {
  mode: 'transaction',
  settings: { max_prepared_statements: '100' },
}

type Pooler = readonly [what: string, options: PgBouncerOptions]

const POOLERS: readonly Pooler[] = [
  ['in transaction mode', { mode: 'transaction' }],
  // There each connection of a client has one of the server's for as long as it lives.
  ['in session mode', { mode: 'session', settings: { default_pool_size: '60' } }],
  ...(keepsPrepared ? [['that keeps prepared statements', KEEPING] as const] : []),
  ...inFull<Pooler>([
    [
      'that swallows our settings',
      { mode: 'transaction', settings: { ignore_startup_parameters: 'options' } },
    ],
    ['with two connections for all', { mode: 'transaction', settings: { default_pool_size: '2' } }],
  ]),
]

test.skipIf(version === undefined).each(POOLERS)(
  'replays 29: a whole life passes through PgBouncer %s',
  async (_what, options) => {
    await using database = await freshDatabase()
    await using pooler = await startPgBouncer(database.url, options)
    const hears = options.mode === 'session'
    const place = { url: pooler.url, direct: database.url, hears, migrate: 'auto' } as const
    await live(serverPlace(place))
    expect((await verify(pooler.url)).disagreements).toEqual([])
  },
)

test.skipIf(version === undefined)(
  'replays 29, race 22: and for an odd role, with postgres.js, through PgBouncer',
  async () => {
    await using database = await freshDatabase()
    const role = `odd_${randomUUID().replaceAll('-', '')}`
    await runSql(database.url, `create role ${role} login superuser`)
    await runSql(
      database.url,
      ODD_SETTINGS.map((each) => `alter role ${role} set ${each};`).join('\n'),
    )
    const options = { mode: 'transaction', roles: [role] } as const
    await using pooler = await startPgBouncer(database.url, options)
    const url = new URL(pooler.url)
    url.username = role
    const sql = postgres(url.href, { onnotice: () => {}, max: 1 })
    const place = { database: sql, url: url.href, direct: database.url, hears: false } as const
    try {
      await live(serverPlace({ ...place, migrate: 'auto' }))
    } finally {
      await sql.end()
      await runSql(database.url, `drop owned by ${role} cascade; drop role ${role}`)
    }
    expect.assertions(0)
  },
)

test.skipIf(version === undefined)(
  'replays 29: that nothing is heard behind it is told once, and channels say so',
  async () => {
    await using database = await freshDatabase()
    await using pooler = await startPgBouncer(database.url, { mode: 'transaction' })
    const warnings: string[] = []
    await using mill = await open(pooler.url, { migrate: 'auto', logger: warningsInto(warnings) })
    await using worker = mill.worker().handle(defineJob('idle'), () => undefined)
    await worker.start()
    await using listener = mill.listen('news')
    await expect(listener.ready()).rejects.toThrow(/behind a pooler.*Connect to the server itself/)
    await until(() => warnings.length > 0)
    await worker.stop()
    expect(warnings).toEqual([expect.stringMatching(/found by polling.*wake: 'poll'/)])
  },
)
