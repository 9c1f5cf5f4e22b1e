import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { makeId } from '../../src/core/id.ts'
import { manualSetup, NOON } from '../support/mill.ts'
import type { ManualSetup } from '../support/mill.ts'

let t: ManualSetup
beforeAll(async () => {
  t = await manualSetup()
})
afterAll(() => t.close())

type Columns = Readonly<Record<string, unknown>>

const at = new Date(NOON)
const ROWS: Readonly<Record<string, () => Columns>> = {
  jobs: () => ({
    id: makeId(NOON),
    kind: 'k',
    queue: 'q',
    payload: '{}',
    priority: 5,
    created_at: at,
  }),
  ready: () => ({
    job_id: makeId(NOON),
    kind: 'k',
    queue: 'q',
    due_at: at,
    lease_ms: 1,
    run: 0,
    failures: 0,
    priority: 5,
  }),
  leases: () => ({
    job_id: makeId(NOON),
    worker: 'w',
    kind: 'k',
    queue: 'q',
    started_at: at,
    lease_ends_at: at,
    due_at: at,
    lease_ms: 1,
    run: 1,
    failures: 0,
    priority: 5,
  }),
  finished: () => ({
    job_id: makeId(NOON),
    state: 'completed',
    kind: 'k',
    queue: 'q',
    finished_at: at,
    run: 1,
    failures: 0,
  }),
  journal: () => ({ job_id: makeId(NOON), at, run: 1, failures: 0, outcome: 'retried' }),
}

async function insert(table: string, changes: Columns = {}): Promise<void> {
  const row = { ...ROWS[table]?.(), ...changes }
  const names = Object.keys(row)
  const places = names.map((_name, index) => `$${index + 1}`)
  await t.sql.query(
    `insert into ${table} (${names.join(', ')}) values (${places.join(', ')})`,
    Object.values(row),
  )
}

test.each(Object.keys(ROWS))('a sound row of %s is taken', async (table) => {
  await insert(table)
  const { rowCount } = await t.sql.query(`select from ${table}`)
  expect(rowCount).toBeGreaterThan(0)
})

describe('what cannot be is refused by the tables themselves:', () => {
  test.each([
    ['jobs', { priority: -1 }, 'jobs_priority'],
    ['jobs', { priority: 10 }, 'jobs_priority'],
    ['jobs', { schedule: 'nightly' }, 'jobs_boundary'],
    ['jobs', { boundary: at }, 'jobs_boundary'],
    ['ready', { priority: 10 }, 'ready_priority'],
    ['ready', { lease_ms: 0 }, 'ready_lease'],
    ['ready', { run: -1 }, 'ready_counts'],
    ['ready', { failures: -1 }, 'ready_counts'],
    ['ready', { reason: 'because' }, 'ready_reason'],
    ['leases', { run: 0 }, 'leases_run'],
    ['finished', { state: 'pending' }, 'finished_state'],
    ['finished', { state: 'dead' }, 'finished_reason'],
    ['finished', { state: 'dead', reason: 'bored' }, 'finished_reason'],
    ['finished', { state: 'completed', reason: 'failed' }, 'finished_reason'],
    ['journal', { outcome: 'lost' }, 'journal_outcome'],
  ])('%s with %j', async (table, changes, constraint) => {
    await expect(insert(table, changes)).rejects.toMatchObject({ code: '23514', constraint })
  })

  test.each([
    ['jobs', 'id', 'jobs_pkey'],
    ['ready', 'job_id', 'ready_pkey'],
    ['leases', 'job_id', 'leases_pkey'],
    ['finished', 'job_id', 'finished_pkey'],
  ])('%s with an id twice', async (table, column, constraint) => {
    const id = makeId(NOON)
    await insert(table, { [column]: id })
    await expect(insert(table, { [column]: id })).rejects.toMatchObject({
      code: '23505',
      constraint,
    })
  })

  test('S2: one boundary of a schedule twice', async () => {
    const fire = { schedule: 'nightly', boundary: at }
    await insert('jobs', fire)
    await expect(insert('jobs', fire)).rejects.toMatchObject({ constraint: 'jobs_fires' })
  })

  test('D4: two jobs of one key that both take asks; twins that returned stand beside them', async () => {
    const key = { dedup_key: 'k1' }
    await insert('ready', key)
    await expect(insert('ready', key)).rejects.toMatchObject({ constraint: 'ready_key' })
    await insert('ready', { ...key, sibling: 'another' })
    await insert('ready', { ...key, kind: 'other' })
  })

  test('D3: one asked id in two journals', async () => {
    const merged = { outcome: 'merged', asked_id: makeId(NOON) }
    await insert('journal', merged)
    await expect(insert('journal', merged)).rejects.toMatchObject({ constraint: 'journal_asked' })
  })
})

test('tables that rows leave are vacuumed and analyzed by counts, without pauses', async () => {
  const { rows } = await t.sql.query<{ options: readonly string[] }>(
    `select reloptions as options from pg_class
     where relnamespace = $1::regnamespace and relname in ('ready', 'leases')`,
    [t.schema],
  )
  expect(rows).toHaveLength(2)
  for (const { options } of rows) {
    expect(options).toEqual(
      expect.arrayContaining([
        'autovacuum_vacuum_scale_factor=0',
        'autovacuum_vacuum_threshold=5000',
        'autovacuum_vacuum_cost_delay=0',
        'autovacuum_analyze_scale_factor=0',
        'autovacuum_analyze_threshold=5000',
      ]),
    )
  }
})

test('no table that moves has a foreign key: a check of it locks the other side', async () => {
  const { rows } = await t.sql.query(
    `select conname from pg_constraint where connamespace = $1::regnamespace and contype = 'f'`,
    [t.schema],
  )
  expect(rows).toEqual([])
})
