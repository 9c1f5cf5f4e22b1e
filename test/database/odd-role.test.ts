import { randomUUID } from 'node:crypto'
import postgres from 'postgres'
import { Pool } from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { defineJob } from '../../src/jobs/kind.ts'
import { collect } from '../support/collect.ts'
import { assertOnePlace, assertRunsRecordedOnce, databaseOfFile, setup } from '../support/mill.ts'
import type { SetupOptions } from '../support/mill.ts'
import { runSql } from '../support/sql.ts'
import { until } from '../support/until.ts'

// Roles and databases have settings of their own, and applications rely on them. None of them may
// change what our statements mean.
const HOSTILE = [
  `default_transaction_isolation = 'serializable'`,
  `default_transaction_isolation = 'repeatable read'`,
  `search_path = 'decoy'`,
  `datestyle = 'German, DMY'`,
  `timezone = 'Asia/Kathmandu'`,
  `intervalstyle = 'sql_standard'`,
  `extra_float_digits = -15`,
  `bytea_output = 'escape'`,
  `standard_conforming_strings = off`,
  `client_encoding = 'LATIN1'`,
  `enable_seqscan = on`,
  `enable_indexscan = off`,
  `statement_timeout = '50ms'`,
  `lock_timeout = '2s'`,
  `idle_in_transaction_session_timeout = '5s'`,
  `jit = on`,
  `default_transaction_deferrable = on`,
  `plan_cache_mode = 'force_generic_plan'`,
]

let url: string
const role = `odd_${randomUUID().replaceAll('-', '')}`

beforeAll(async () => {
  const own = await databaseOfFile()
  // Tables of our names, and functions of the names we call, in the way of whoever does not say which.
  await runSql(
    own,
    `create role ${role} login superuser;
     create schema decoy;
     create table decoy.jobs (id text);
     create table decoy.ready (job_id text);
     create function decoy.pg_notify(text, text) returns void language plpgsql as $$ begin raise 'decoy'; end $$;
     create function decoy.greatest(timestamptz, timestamptz) returns timestamptz language sql as $$ select null::timestamptz $$`,
  )
  const parsed = new URL(own)
  parsed.username = role
  url = parsed.href
})
afterAll(() =>
  runSql(url.replace(role, 'postgres'), `drop owned by ${role} cascade; drop role ${role}`),
)

const moody = defineJob('moody', {
  input: z.object({ text: z.string(), fails: z.number() }),
  result: z.object({ text: z.string() }),
  retry: { failures: 3, backoff: { type: 'fixed', base: 1, jitter: 0 } },
  expires: '1d',
})
const TEXT = 'Grüße, 世界 👋 \\ \' " \u0000'

/** The whole path: enqueue one and many, run, retry, give results back, look, retry again. */
async function live(options: SetupOptions): Promise<Readonly<Record<string, unknown>>> {
  await using t = await setup(options)
  const one = await t.mill.enqueue(moody, { text: TEXT, fails: 1 })
  const many = await t.mill.enqueueMany(
    moody,
    [0, 9].map((fails) => ({ text: TEXT, fails })),
  )
  const worker = t.mill.worker().handle(moody, ({ text, fails }, run) => {
    if (run.number <= fails) throw new Error(`no ${TEXT}`)
    return { text }
  })
  await worker.start()
  await until(async () => {
    const jobs = await collect(t.mill.jobs.list({ state: ['completed', 'dead'] }))
    return jobs.length === 3
  })
  await worker.stop()
  await assertOnePlace(t.sql, t.schema)
  await assertRunsRecordedOnce(t.sql, t.schema)
  const ids = [one.id, ...many.map(({ id }) => id)]
  return {
    jobs: await Promise.all(ids.map((id) => t.mill.jobs.get(moody, id))),
    journal: await collect(t.mill.jobs.journal(one.id)),
    retried: await t.mill.jobs.retry(ids),
  }
}

const input = (fails: number) => ({ text: TEXT, fails })
const LIVED = {
  jobs: [
    { state: 'completed', run: 2, failures: 1, input: input(1), result: { text: TEXT } },
    { state: 'completed', run: 1, failures: 0, input: input(0), result: { text: TEXT } },
    { state: 'dead', run: 3, failures: 3, input: input(9), reason: 'failed' },
  ],
  journal: [
    { outcome: 'retried', error: { message: `no ${TEXT.replace('\u0000', '\ufffd')}` } },
    { outcome: 'completed', run: 2 },
  ],
  retried: { matched: 3, applied: 1 },
}

describe('race 22: the whole path works for a role with', () => {
  test.each(HOSTILE)('%s', async (setting) => {
    await runSql(
      url.replace(role, 'postgres'),
      `alter role ${role} reset all; alter role ${role} set ${setting}`,
    )
    expect(await live({ database: url })).toMatchObject(LIVED)
  })
})

describe('race 22: with all of them at once, over', () => {
  beforeAll(async () => {
    const all = HOSTILE.map((setting) => `alter role ${role} set ${setting};`)
    await runSql(url.replace(role, 'postgres'), all.join('\n'))
  })

  test('a URL', async () => {
    expect(await live({ database: url })).toMatchObject(LIVED)
  })

  test('a pg.Pool, whose own settings are as odd', async () => {
    const pool = new Pool({
      connectionString: url,
      options: '-c search_path=decoy -c timezone=Asia/Tokyo',
    })
    try {
      expect(await live({ database: pool })).toMatchObject(LIVED)
    } finally {
      await pool.end()
    }
  })

  test('a postgres.js sql that renames columns and parses types its own way', async () => {
    const sql = postgres(url, {
      onnotice: () => {},
      transform: postgres.camel,
      types: {
        float8: { to: 701, from: [701], serialize: String, parse: (text: string) => ({ text }) },
      },
    })
    try {
      expect(await live({ database: sql })).toMatchObject(LIVED)
    } finally {
      await sql.end()
    }
  })
})
