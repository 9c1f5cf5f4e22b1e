import type { Client } from 'pg'
import { escapeIdentifier, escapeLiteral } from 'pg'

/** How many rows of each sort a database holds. */
export interface BacklogSizes {
  /** Due, of the kind that the worker knows: four fifths at the normal level, the rest at the low one. */
  readonly ready: number
  /** Not due for a day, in levels better than all that is due. */
  readonly future: number
  readonly finished: number
  /** Due, of a kind that the worker does not know, in front of and between those it knows, in every level. */
  readonly unknown: number
}

/** What the planner knows of the tables: nothing, what was true when they were almost empty, or the truth. */
export type Statistics = 'missing' | 'stale' | 'fresh'

const TABLES = ['jobs', 'ready', 'leases', 'finished', 'journal']

/**
 * Writes the rows as they would stand there, straight into the tables of an empty namespace: jobs in
 * the order of their ids, bodies beside the places. Statistics stay those of an almost empty
 * database until `setStatistics`: autovacuum is kept away.
 */
export async function fillBacklog(sql: Client, schema: string, sizes: BacklogSizes): Promise<void> {
  await sql.query(`set search_path to ${escapeIdentifier(schema)}`)
  for (const table of TABLES)
    await sql.query(`alter table ${table} set (autovacuum_enabled = false)`)
  const few = Math.min(sizes.ready, 1_000)
  await insertReady(sql, { ...READY, from: 1, to: few })
  await sql.query(`analyze ${TABLES.join(', ')}`)

  await insertFinished(sql, sizes.finished)
  await insertReady(sql, { ...UNKNOWN, from: 1, to: sizes.unknown })
  await insertReady(sql, { ...READY, from: few + 1, to: sizes.ready })
  await insertReady(sql, { ...FUTURE, from: 1, to: sizes.future })
}

/** `stale` is how `fillBacklog` leaves them, and cannot be brought back. */
export async function setStatistics(
  sql: Client,
  schema: string,
  statistics: Statistics,
): Promise<void> {
  await sql.query(`set search_path to ${escapeIdentifier(schema)}`)
  if (statistics === 'fresh') await sql.query(`analyze ${TABLES.join(', ')}`)
  if (statistics === 'missing') await clearStatistics(sql, schema)
}

/** A sort of waiting jobs, numbered by i. */
interface ReadyRows {
  readonly letter: string
  readonly kind: string
  readonly level: string
  readonly due: string
  readonly from: number
  readonly to: number
}

type ReadySort = Omit<ReadyRows, 'from' | 'to'>

// A job is due two milliseconds after the one before it, the first an hour ago.
const READY: ReadySort = {
  letter: 'R',
  kind: 'step',
  level: 'case when i % 5 = 0 then 8 else 5 end',
  due: `interval '-1 hour' + i * interval '2 milliseconds'`,
}

// By fours: alone in a better level, in front of the known ones, between them, in front in a worse level.
const UNKNOWN: ReadySort = {
  letter: 'U',
  kind: 'stranger',
  level: '(array[2, 5, 5, 8])[i % 4 + 1]',
  due: `case when i % 4 = 2 then interval '-1 hour' else interval '-2 hours' end + i * interval '2 milliseconds'`,
}

const FUTURE: ReadySort = {
  letter: 'S',
  kind: 'step',
  level: 'i % 5',
  due: `interval '1 day' + i * interval '2 milliseconds'`,
}

async function insertReady(sql: Client, rows: ReadyRows): Promise<void> {
  const { letter, kind, level, due, from, to } = rows
  const numbers = `generate_series(${from}, ${to}) i`
  await sql.query(`
    insert into ready (job_id, queue, kind, due_at, lease_ms, run, failures, priority)
    select ${idOf(letter)}, 'default', '${kind}', ${NOW} + ${due}, 60000, 0, 0, ${level}
    from ${numbers}`)
  await insertBodies(sql, { letter, kind, level, numbers })
}

async function insertFinished(sql: Client, count: number): Promise<void> {
  const numbers = `generate_series(1, ${count}) i`
  await sql.query(`
    insert into finished (job_id, state, kind, queue, finished_at, started_at, prune_at, run, failures, worker)
    select ${idOf('F')}, 'completed', 'step', 'default', ${NOW} - interval '6 hours' + i * interval '2 milliseconds',
      ${NOW} - interval '6 hours' + i * interval '2 milliseconds',
      ${NOW} + interval '7 days' + i * interval '2 milliseconds', 1, 0, 'host:1:worker'
    from ${numbers}`)
  await insertBodies(sql, { letter: 'F', kind: 'step', level: '5', numbers })
}

async function insertBodies(
  sql: Client,
  about: Pick<ReadyRows, 'letter' | 'kind' | 'level'> & { readonly numbers: string },
): Promise<void> {
  const { letter, kind, level, numbers } = about
  await sql.query(`
    insert into jobs (id, kind, queue, payload, priority, created_at)
    select ${idOf(letter)}, '${kind}', 'default', json_build_object('number', i), ${level}, ${NOW} - interval '6 hours'
    from ${numbers}`)
}

const NOW = `date_trunc('milliseconds', now())`

function idOf(letter: string): string {
  return `'01${letter}' || lpad(i::text, 23, '0')`
}

async function clearStatistics(sql: Client, schema: string): Promise<void> {
  const own = escapeLiteral(schema)
  for (const table of TABLES) {
    await sql.query(`select pg_clear_relation_stats(${own}, '${table}')`)
    await sql.query(
      `select pg_clear_attribute_stats(${own}, '${table}', attname::text, false)
       from pg_attribute
       where attrelid = '${table}'::regclass and attnum > 0 and not attisdropped`,
    )
  }
}
