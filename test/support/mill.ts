import { Client } from 'pg'
import { afterAll, expect } from 'vitest'
import { connect } from '../../src/client.ts'
import type { Mill } from '../../src/mill.ts'
import { manualClock } from '../../src/core/manual-clock.ts'
import type { ManualClock } from '../../src/core/manual-clock.ts'
import { engineFor } from '../../src/database/connect.ts'
import type { Database } from '../../src/database/connect.ts'
import { quoted } from '../../src/database/namespace.ts'
import { openSettings } from '../../src/open-options.ts'
import type { OpenOptions } from '../../src/open-options.ts'
import { freshDatabase } from './database.ts'
import type { FreshDatabase } from './database.ts'
import { schemaOf, TEMPLATE } from './migrated-template.ts'

/** A client in a schema of its own, and a session beside it that looks at the tables. */
export interface Setup extends AsyncDisposable {
  readonly mill: Mill
  /** The database of this test file, without any proxy. */
  readonly url: string
  /** The schema of this test, needs no quotes. */
  readonly schema: string
  /** The test's own session; its `search_path` is the schema, so `select * from ready` works. */
  readonly sql: Client
  /** Another such session, ended with the setup: two of them make a race. */
  session(): Promise<Client>
  close(): Promise<void>
}

export interface ManualSetup extends Setup {
  readonly clock: ManualClock
}

export interface SetupOptions extends OpenOptions {
  /** What the client connects to: the URL of a proxy, a pool. Default the file's database. */
  readonly database?: Database | undefined
}

/** Where a manual clock begins: 2025-06-15T12:00:00Z. */
export const NOON: number = Date.UTC(2025, 5, 15, 12)

let database: Promise<FreshDatabase> | undefined
let schemas = 0

afterAll(async () => {
  await (await database)?.drop()
  database = undefined
})

/** The URL of the one database of this test file, made when first asked for; its first schemas are migrated. */
export async function databaseOfFile(): Promise<string> {
  database ??= freshDatabase(TEMPLATE)
  return (await database).url
}

/** A client on the database's clock, in a fresh schema. Pass `schema` to join one that is there. */
export async function setup(options: SetupOptions = {}): Promise<Setup> {
  return build(options, undefined)
}

/** The same on a clock that stands still until `clock.advance(ms)`. */
export async function manualSetup(options: SetupOptions = {}): Promise<ManualSetup> {
  const clock = manualClock(NOON)
  return { ...(await build(options, clock)), clock }
}

async function build(options: SetupOptions, clock: ManualClock | undefined): Promise<Setup> {
  const url = await databaseOfFile()
  const { database: given = url, schema = freshSchema(), ...rest } = options
  const settings = { migrate: 'auto', logger: false, ...rest, schema } as const
  const mill = await connect(await engineFor(given), openSettings(settings, false), clock)
  const clients: Client[] = []
  const session = async (): Promise<Client> => {
    const client = await connectTo(url, schema)
    clients.push(client)
    return client
  }
  const sql = await session()
  async function close(): Promise<void> {
    await mill.close()
    await Promise.all(clients.map((client) => client.end()))
  }
  return { mill, url, schema, sql, session, close, [Symbol.asyncDispose]: close }
}

function freshSchema(): string {
  schemas += 1
  return schemaOf(schemas)
}

async function connectTo(url: string, schema: string): Promise<Client> {
  const client = new Client({ connectionString: url })
  // A test may end its backend: the queries reject, the process must live.
  client.on('error', () => {})
  await client.connect()
  await client.query(`set search_path to ${quoted(schema)}`)
  return client
}

/** How many rows each place has. */
export interface Places {
  readonly jobs: number
  readonly ready: number
  readonly leases: number
  readonly finished: number
}

export async function places(sql: Client, schema: string): Promise<Places> {
  const count = (table: string) =>
    `(select count(*)::int from ${quoted(schema)}.${table}) as ${table}`
  const { rows } = await sql.query<Places>(
    `select ${['jobs', 'ready', 'leases', 'finished'].map(count).join(', ')}`,
  )
  const [counted] = rows
  if (counted === undefined) throw new Error('the database counted nothing')
  return counted
}

/** The invariant of the layout: every job has exactly one row in exactly one of ready, leases, finished. */
export async function assertOnePlace(sql: Client, schema: string): Promise<void> {
  const at = quoted(schema)
  const { rows } = await sql.query(
    `with place as (
       select job_id from ${at}.ready
       union all select job_id from ${at}.leases
       union all select job_id from ${at}.finished
     )
     select coalesce(j.id, p.job_id) as job, count(p.job_id)::int as places, count(j.id)::int > 0 as has_body
     from ${at}.jobs j
     full join place p on p.job_id = j.id
     group by 1
     having count(p.job_id) <> 1 or count(j.id) = 0`,
  )
  expect(rows, 'jobs that do not stand in exactly one place, or places without a body').toEqual([])
}

/** Every run that ended is recorded exactly once, in the journal or as the job's end; none was skipped. */
export async function assertRunsRecordedOnce(sql: Client, schema: string): Promise<void> {
  const at = quoted(schema)
  const { rows } = await sql.query(
    `with begun as (
       select job_id, run as ended from ${at}.ready
       union all select job_id, run - 1 from ${at}.leases
       union all select job_id, run from ${at}.finished
     ),
     recorded as (
       select job_id, array_agg(run order by run) as runs
       from ${at}.timeline
       where started_at is not null
       group by job_id
     )
     select b.job_id, b.ended, r.runs
     from begun b
     left join recorded r using (job_id)
     where coalesce(r.runs, '{}') <> array(select generate_series(1, b.ended))`,
  )
  expect(rows, 'jobs whose runs are not each recorded once').toEqual([])
}
