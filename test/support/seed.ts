import type { Client } from 'pg'

/** How many rows of each place to write. */
export interface Seed {
  readonly ready: number
  readonly leases: number
  readonly finished: number
}

/** The instant around which the seeded rows lie: half are due before it. */
export const SEEDED_AT = '2025-06-15T12:00:00.000Z'

/** The id of a seeded row: `place` is R (ready), H (held by a lease) or F (finished). */
export function seededId(place: 'R' | 'H' | 'F', number: number): string {
  return `01${place}${String(number).padStart(23, '0')}`
}

/**
 * Fills the tables on the session's search path, with their bodies, quickly. Levels, kinds and
 * states are mixed as an application would; autovacuum stays away, so that the statistics are
 * what the test makes them.
 */
export async function seed(sql: Client, { ready, leases, finished }: Seed): Promise<void> {
  for (const table of ['jobs', 'ready', 'leases', 'finished', 'journal', 'locks', 'lock_waiters']) {
    await sql.query(`alter table ${table} set (autovacuum_enabled = false)`)
  }
  const at = `timestamptz '${SEEDED_AT}'`
  await sql.query(`
    insert into ready (job_id, queue, kind, due_at, expires_at, lease_ms, run, failures, priority)
    select ${id('R')}, case when i % 50 = 0 then 'mail' else 'default' end, case when i % 10 = 0 then 'other' else 'greet' end,
      ${at} + (i - ${ready} / 2) * interval '1 second',
      case when i % 20 = 0 then ${at} + (i - ${ready} / 2) * interval '2 seconds' end,
      60000, 0, 0, (i * 7) % 10
    from generate_series(1, ${ready}) i`)
  await sql.query(`
    insert into leases (job_id, worker, queue, kind, started_at, lease_ends_at, due_at, lease_ms, run, failures, priority)
    select ${id('H')}, 'worker ' || i % 20, 'default', 'greet', ${at}, ${at} + (i - ${leases} / 10) * interval '10 milliseconds',
      ${at}, 60000, 1, 0, 5
    from generate_series(1, ${leases}) i`)
  await sql.query(`
    insert into finished (job_id, state, reason, kind, queue, finished_at, started_at, prune_at, run, failures, worker)
    select ${id('F')}, case when i % 100 = 0 then 'dead' else 'completed' end, case when i % 100 = 0 then 'failed' end,
      'greet', 'default', ${at} - i * interval '1 second', ${at} - i * interval '2 seconds',
      ${at} + (${finished} * 9 / 10 - i) * interval '1 second', 2, 1, 'worker 1'
    from generate_series(1, ${finished}) i`)
  await sql.query(`
    insert into journal (job_id, at, started_at, due_at, run, failures, outcome, worker, error)
    select ${id('F')}, ${at}, ${at}, ${at}, 1, 1, 'retried', 'worker 1', '{"name":"Error","message":"no"}'
    from generate_series(1, ${finished}) i`)
  await sql.query(`
    insert into locks (name, holder, owner, token, acquired_at, expires_at, ttl_ms)
    select 'lock ' || i, case when i % 3 > 0 then 'h' || i end, 'host:1', i, ${at}, ${at} + (i - ${leases} / 2) * interval '1 minute', 30000
    from generate_series(1, ${leases}) i`)
  await sql.query(`
    insert into lock_waiters (name, holder, seen_at)
    select 'lock ' || i % 50, 'h' || i, ${at} - i * interval '1 minute'
    from generate_series(1, ${leases}) i`)
  await sql.query(`
    insert into jobs (id, kind, queue, payload, priority, created_at)
    select job_id, kind, queue, json '{"n":1}', priority, ${at} from ready
    union all select job_id, kind, queue, json '{"n":1}', priority, ${at} from leases
    union all select job_id, kind, queue, json '{"n":1}', 5, ${at} from finished`)
}

/** `seededId` in SQL, numbered by i. */
function id(place: 'R' | 'H' | 'F'): string {
  return `'01${place}' || lpad(i::text, 23, '0')`
}
