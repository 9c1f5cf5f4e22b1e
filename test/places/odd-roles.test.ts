import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { migrations, open } from 'millrace'
import { freshDatabase } from '../support/database.ts'
import type { FreshDatabase } from '../support/database.ts'
import { runSql } from '../support/sql.ts'
import { inFull } from './extent.ts'
import { live } from './life.ts'
import { DECOYS, ODD_SETTINGS } from './odd-settings.ts'
import { serverPlace } from './server-place.ts'

const LEVELS = inFull([
  `default_transaction_isolation = 'repeatable read'`,
  `default_transaction_isolation = 'serializable'`,
])

describe('race 22: a whole life passes for', () => {
  let database: FreshDatabase
  let role: string
  let url: string

  beforeAll(async () => {
    database = await freshDatabase()
    role = `odd_${randomUUID().replaceAll('-', '')}`
    await runSql(database.url, `create role ${role} login superuser; ${DECOYS}`)
    const own = new URL(database.url)
    own.username = role
    url = own.href
  })
  afterAll(async () => {
    await runSql(database.url, `drop owned by ${role} cascade; drop role ${role}`)
    await database.drop()
  })

  async function becomes(settings: readonly string[]): Promise<void> {
    const all = settings.map((each) => `alter role ${role} set ${each};`)
    await runSql(database.url, [`alter role ${role} reset all;`, ...all].join('\n'))
  }

  test('a role with every odd setting at once, and functions in the way', async () => {
    await becomes(ODD_SETTINGS)
    await live(serverPlace({ url, direct: database.url, schema: 'odd', migrate: 'auto' }))
    expect.assertions(0)
  })

  test.each(LEVELS)('a role with %s alone', async (setting) => {
    await becomes([setting])
    const schema = `own ${setting}`.slice(0, 60)
    await live(serverPlace({ url, direct: database.url, schema, migrate: 'auto' }))
    expect.assertions(0)
  })

  test('a role with the rights of `migrate grants` and nothing else', async () => {
    const runtime = `runtime_${database.name}`
    await runSql(database.url, `create role ${runtime} login`)
    await using tables = migrations(database.url, { schema: 'granted' })
    await tables.up()
    await tables.grants(runtime)
    const own = new URL(database.url)
    own.username = runtime
    await live(serverPlace({ url: own.href, direct: database.url, schema: 'granted' }))
    await runSql(database.url, `drop owned by ${runtime}; drop role ${runtime}`)
    expect.assertions(0)
  })

  test('a role that may only read is told so, and reads', async () => {
    await using tables = migrations(database.url, { schema: 'read only' })
    await tables.up()
    await becomes(['default_transaction_read_only = on'])
    await using mill = await open(url, { schema: 'read only', logger: false })
    expect((await mill.jobs.list().page()).items).toEqual([])
    await expect(mill.queues.pause('mail')).rejects.toMatchObject({
      sqlstate: '25006',
      message: expect.stringContaining('default_transaction_read_only'),
    })
  })
})
