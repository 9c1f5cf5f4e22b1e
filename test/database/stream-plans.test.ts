import type { Client } from 'pg'
import { describe, expect, test } from 'vitest'
import { PLAN_SETTINGS } from '../../src/database/database.ts'
import type { Query } from '../../src/database/database.ts'
import { namespace } from '../../src/database/namespace.ts'
import type { Namespace } from '../../src/database/namespace.ts'
import { bind } from '../../src/database/statement.ts'
import { listConsumers, trimEvents } from '../../src/streams/admin-statements.ts'
import * as consumers from '../../src/streams/consumer-statements.ts'
import * as positions from '../../src/streams/position-statements.ts'
import { readEvents, readEventsOfKey } from '../../src/streams/read-statements.ts'
import { lookBeforeMark, waitingStreams } from '../../src/streams/sequence-statements.ts'
import { setup } from '../support/mill.ts'
import { faultsOf, indexesOf, planOf } from '../support/plan.ts'
import type { PlanMode } from '../support/plan.ts'
import { SEEDED_AT as now } from '../support/seed.ts'

const MODES: readonly PlanMode[] = ['force_custom_plan', 'force_generic_plan']

interface Sample {
  readonly query: (place: Namespace) => Query
  readonly reads: readonly string[]
}

const stream = 'orders'
const place = { stream, consumer: 'billing' }
const holder = { ...place, token: 1, lease_ms: 1_000, now }
const SAMPLES: readonly Sample[] = [
  {
    query: (at) => bind(readEvents, { stream, after: 500, most: 100 }, at),
    reads: ['events_pkey'],
  },
  {
    query: (at) => bind(readEventsOfKey, { stream, after: 5, most: 100, key: 'key 3' }, at),
    reads: ['events_key'],
  },
  { query: (at) => bind(lookBeforeMark, { stream, mark: 5 }, at), reads: ['event_inbox_pkey'] },
  { query: (at) => bind(waitingStreams, {}, at), reads: ['event_inbox_pkey'] },
  { query: (at) => bind(positions.streamEnds, { stream }, at), reads: ['events_pkey'] },
  {
    query: (at) => bind(positions.eventOffsetOf, { stream, id: 'id 1' }, at),
    reads: ['events_id'],
  },
  {
    query: (at) =>
      bind(positions.firstEventSince, { stream, after: 0, most: 1_000, since: now }, at),
    reads: ['events_pkey'],
  },
  {
    query: (at) => bind(consumers.takeConsumer, { ...holder, holder: 'me' }, at),
    reads: ['consumers_pkey'],
  },
  {
    query: (at) => bind(consumers.keepConsumer, { ...holder, offset: 5 }, at),
    reads: ['consumers_pkey'],
  },
  {
    query: (at) => bind(consumers.moveConsumer, { ...holder, offset: 5, began_at: 1 }, at),
    reads: ['consumers_pkey'],
  },
  {
    query: (at) => bind(consumers.saveOffset, { ...place, offset: 5 }, at),
    reads: ['events_pkey'],
  },
  {
    query: (at) =>
      bind(trimEvents, { stream, after: 0, before: 500, since: null, most: 1_000 }, at),
    reads: ['events_pkey'],
  },
  {
    query: (at) => bind(listConsumers, { stream, now }, at),
    reads: ['consumers_pkey', 'events_pkey'],
  },
]

describe.each([1, 1_000, 50_000])(
  'statements of streams read the index they should, with %d events',
  (events) => {
    test('without statistics, with those of when the tables were empty, and with fresh ones', async () => {
      await using t = await setup()
      const { sql, schema } = t
      for (const [setting, value] of Object.entries(PLAN_SETTINGS)) {
        await sql.query(`set ${setting} = ${value}`)
      }
      const faults: string[] = []
      for (const state of ['none', 'stale', 'fresh']) {
        if (state === 'stale') await sql.query('truncate events, event_inbox, consumers, streams')
        if (state !== 'none') await sql.query('analyze events, event_inbox, consumers, streams')
        if (state !== 'fresh') await fill(sql, events)
        faults.push(...(await faultsIn(sql, { schema, state, isTiny: events === 1 })))
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

async function fill(sql: Client, events: number): Promise<void> {
  for (const table of ['events', 'event_inbox', 'consumers', 'streams']) {
    await sql.query(`alter table ${table} set (autovacuum_enabled = false)`)
  }
  const streams = `case when i % 3 = 0 then 'audits' else 'orders' end`
  await sql.query(
    `insert into events (stream, event_offset, place, id, key, data, published_at)
     select ${streams}, i, i, 'id ' || i, case when i % 2 = 0 then 'key ' || i % 50 end, '{}', '${now}'
     from generate_series(1, ${events}) i`,
  )
  await sql.query(
    `insert into event_inbox (stream, id, data, published_at)
     select ${streams}, 'id ' || i, '{}', '${now}' from generate_series(1, ${events}) i`,
  )
  await sql.query(
    `insert into consumers (stream, consumer, saved_offset, token)
     select ${streams}, 'consumer ' || i, i, 1 from generate_series(1, ${Math.ceil(events / 10)}) i`,
  )
  await sql.query(`insert into streams values ('orders', '${now}'), ('audits', '${now}')`)
}
