import type { Client } from 'pg'
import { describe, expect, test } from 'vitest'
import { PLAN_SETTINGS } from '../../src/database/database.ts'
import type { Query } from '../../src/database/database.ts'
import { namespace } from '../../src/database/namespace.ts'
import type { Namespace } from '../../src/database/namespace.ts'
import { bind } from '../../src/database/statement.ts'
import { skipHalted } from '../../src/outbox/outbox-admin-statements.ts'
import { endedHeads, forgetMessages, takeTurns } from '../../src/outbox/turn-statements.ts'
import { setup } from '../support/mill.ts'
import { faultsOf, indexesOf, planOf } from '../support/plan.ts'
import type { PlanMode } from '../support/plan.ts'
import { SEEDED_AT as now } from '../support/seed.ts'

const MODES: readonly PlanMode[] = ['force_custom_plan', 'force_generic_plan']
const TABLES = 'ready, leases, finished, jobs, outbox_inbox, outbox_line, outbox_heads'

interface Sample {
  readonly query: (place: Namespace) => Query
  readonly reads: readonly string[]
}

const keys = JSON.stringify(
  Array.from({ length: 200 }, (_, nth) => ({ kind: 'mails', key: `key ${nth}` })),
)
const SAMPLES: readonly Sample[] = [
  {
    query: (at) => bind(takeTurns, { keys, most: 200, hint_until: now, now }, at),
    reads: [
      'outbox_inbox_pkey',
      'outbox_heads_pkey',
      'outbox_line_order',
      'ready_pkey',
      'leases_pkey',
      'finished_pkey',
    ],
  },
  {
    query: (at) => bind(endedHeads, { after_kind: 'mails', after_key: '', most: 5_000 }, at),
    reads: ['outbox_heads_pkey', 'ready_pkey', 'leases_pkey', 'finished_pkey', 'outbox_line_pkey'],
  },
  {
    query: (at) => bind(forgetMessages, { after: '0', most: 5_000 }, at),
    reads: ['outbox_line_over', 'jobs_pkey'],
  },
  {
    query: (at) => bind(skipHalted, { outbox: 'mails', key: 'key 1', hint_until: now, now }, at),
    reads: ['outbox_heads_pkey', 'outbox_line_pkey', 'finished_pkey'],
  },
]

describe.each([1, 1_000, 50_000])(
  'statements of outboxes read the index they should, with %d messages',
  (messages) => {
    test('without statistics, with those of when the tables were empty, and with fresh ones', async () => {
      await using t = await setup()
      const { sql, schema } = t
      for (const [setting, value] of Object.entries(PLAN_SETTINGS)) {
        await sql.query(`set ${setting} = ${value}`)
      }
      const faults: string[] = []
      for (const state of ['none', 'stale', 'fresh']) {
        if (state === 'stale') await sql.query(`truncate ${TABLES}`)
        if (state !== 'none') await sql.query(`analyze ${TABLES}`)
        if (state !== 'fresh') await fill(sql, messages)
        faults.push(...(await faultsIn(sql, { schema, state, isTiny: messages === 1 })))
      }
      expect(faults).toEqual([])
    }, 60_000)
  },
)

interface At {
  readonly schema: string
  readonly state: string
  readonly isTiny: boolean
}

async function faultsIn(sql: Client, { schema, state, isTiny }: At): Promise<readonly string[]> {
  const found: string[] = []
  for (const mode of MODES) {
    for (const { query, reads } of SAMPLES) {
      const asked = query(namespace(schema))
      const plan = await planOf(sql, mode, asked)
      const read = indexesOf(plan)
      // To look an id up in a table of one page all its indexes cost the same.
      const missing = isTiny ? [] : reads.filter((index) => !read.has(index))
      const words = [...faultsOf(plan), ...missing.map((index) => `does not read ${index}`)]
      found.push(...words.map((word) => `${asked.name}, ${mode}, ${state}: ${word}`))
    }
  }
  return found
}

/** Five hundred keys; a head of each is due, the rest wait, and a tenth is over. */
async function fill(sql: Client, messages: number): Promise<void> {
  for (const table of TABLES.split(', ')) {
    await sql.query(`alter table ${table} set (autovacuum_enabled = false)`)
  }
  const row = `'01R' || lpad(i::text, 23, '0') as id, 'key ' || i % 500 as key`
  await sql.query(`
    with x as (select i, ${row} from generate_series(1, ${messages}) i),
    place as (
      insert into ready (job_id, queue, kind, due_at, lease_ms, run, failures, priority, reason, dedup_key, sibling)
      select id, 'default', 'mails', case when i <= 500 then timestamptz '${now}' else 'infinity' end, 60000, 0, 0, 5,
        case when i > 500 then 'line' end, key, id
      from x where i % 10 > 0
    ),
    line as (
      insert into outbox_line (job_id, kind, key, due_at, halts, is_over)
      select id, 'mails', key, '${now}', true, i % 10 = 0 from x
    ),
    inbox as (
      insert into outbox_inbox (job_id, kind, key, due_at, halts) select id, 'mails', key, '${now}', true from x
    ),
    heads as (
      insert into outbox_heads (kind, key, job_id) select 'mails', key, id from x where i <= 500 on conflict do nothing
    ),
    ended as (
      insert into finished (job_id, state, reason, kind, queue, run, failures, finished_at)
      select id, 'dead', 'failed', 'mails', 'default', 1, 0, '${now}' from x where i % 10 = 0
    )
    insert into jobs (id, kind, queue, payload, priority, created_at, dedup_key)
    select id, 'mails', 'default', '{}', 5, '${now}', key from x`)
}
