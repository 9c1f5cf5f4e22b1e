import { afterAll, beforeAll, expect, test } from 'vitest'
import { millrace, startMillrace } from '../support/command-line.ts'
import { databaseUrl, freshDatabase } from '../support/database.ts'
import type { FreshDatabase } from '../support/database.ts'
import { runSql } from '../support/sql.ts'
import { until } from '../support/until.ts'

let database: FreshDatabase

beforeAll(async () => {
  database = await freshDatabase()
  await runSql(database.url, 'create schema millrace; create table millrace.jobs (precious text)')
})

afterAll(() => database.drop())

const SLOW = { timeout: 90_000 }
const TINY = ['--jobs', '40', '--concurrency', '3']

test('a bench measures every phase in a schema of its own, and leaves nothing', SLOW, async () => {
  const { code, out, err } = await millrace(['bench', '-d', database.url, '--json', ...TINY])

  expect({ code, err }).toEqual({ code: 0, err: '' })
  const report: Report = JSON.parse(out)
  expect(report.schema).toMatch(/^millrace_bench_[0-9a-f]{12}$/)
  expect(report.phases.map(({ name, jobs }) => [name, jobs])).toEqual([
    ['one-by-one', 1],
    ['callers', 20],
    ['bulk', 40],
    ['drain-default', 61],
    ['drain', 40],
  ])
  for (const { jobsPerSecond, bound } of report.phases) {
    expect(jobsPerSecond).toBeGreaterThan(0)
    expect(bound).not.toBe('')
  }
  expect(report.latency.jobs).toBe(40)
  expect(report.latency.p50).toBeGreaterThan(0)
  expect(report.latency.p99).toBeGreaterThanOrEqual(report.latency.p50)
  expect(report.commitMs).toBeGreaterThan(0)
  expect(await schemasOf(database.url)).toEqual(['millrace', 'public'])
  expect(await runSql(database.url, 'select precious from millrace.jobs')).toEqual([])
})

interface Report {
  readonly schema: string
  readonly commitMs: number
  readonly phases: readonly {
    readonly name: string
    readonly jobs: number
    readonly jobsPerSecond: number
    readonly bound: string
  }[]
  readonly latency: { readonly jobs: number; readonly p50: number; readonly p99: number }
}

test('for people it prints a table, and where it measured', SLOW, async () => {
  const env = { DATABASE_URL: withPassword(database.url), MILLRACE_SCHEMA: 'millrace' }

  const { code, out, err } = await millrace(['bench', ...TINY], { env })

  expect(code).toBe(0)
  expect(err).toMatch(/in the schema millrace_bench_[0-9a-f]+ of its own/)
  for (const line of ['enqueue, one by one', 'drain, 3 runs at once', 'p99', 'round trip']) {
    expect(out).toContain(line)
  }
  expect(out + err).not.toContain('secret')
})

test.each<readonly [when: string, hasCome: () => Promise<boolean>]>([
  ['as soon as it has made its schema', async () => (await benchSchemas()).length === 1],
  ['while it drains', hasDrained],
])('SIGINT ends a bench and drops its schema: %s', SLOW, async (_when, hasCome) => {
  const child = startMillrace(['bench', '-d', database.url, '--jobs', '30000'])
  const ended = new Promise((resolve) => child.on('close', resolve))
  let out = ''
  child.stdout.on('data', (chunk) => (out += chunk))
  await until(hasCome, { ms: 60_000 })

  child.kill('SIGINT')

  expect(await ended).toBe(1)
  expect(out).toBe('stopped before the end\n')
  expect(await benchSchemas()).toEqual([])
})

async function hasDrained(): Promise<boolean> {
  const [schema] = await benchSchemas()
  const rows = await runSql(database.url, `select job_id from ${String(schema)}.finished limit 1`)
  return rows.length > 0
}

test('a bench that fails drops its schema', SLOW, async () => {
  await using other = await freshDatabase()
  await runSql(other.url, REFUSE_TABLES)

  const { code, err } = await millrace(['bench', '-d', other.url, ...TINY])

  expect(code).not.toBe(0)
  expect(err).toContain('no more tables here')
  expect(await schemasOf(other.url)).toEqual(['public'])
})

const REFUSE_TABLES = `
create function refuse() returns event_trigger language plpgsql as $$
begin
  raise exception 'no more tables here';
end $$;
create event trigger refuse on ddl_command_end when tag in ('CREATE TABLE')
execute function refuse()`

test('a schema that cannot be dropped is told, with what to do about it', SLOW, async () => {
  await using other = await freshDatabase()
  await runSql(other.url, REFUSE_DROPS)

  const { code, err } = await millrace(['bench', '-d', other.url, ...TINY])

  const [schema] = await schemasOf(other.url)
  expect(code).toBe(4)
  expect(err).toContain(
    `DATABASE: the schema "${String(schema)}" is still there: nothing goes here`,
  )
  expect(err).toContain(`Drop it by hand: drop schema ${String(schema)} cascade`)
})

const REFUSE_DROPS = `
create function refuse() returns event_trigger language plpgsql as $$
begin
  raise exception 'nothing goes here';
end $$;
create event trigger refuse on ddl_command_start when tag in ('DROP SCHEMA')
execute function refuse()`

test('without the right to make a schema it says what is missing', SLOW, async () => {
  await using other = await freshDatabase()
  await runSql(other.url, `create role ${other.name} login`)
  const url = new URL(databaseUrl(other.url, other.name))
  url.username = other.name

  const { code, err } = await millrace(['bench', '-d', url.href, ...TINY])

  await runSql(other.url, `drop role ${other.name}`)
  expect(code).toBe(4)
  expect(err).toMatch(/^DATABASE: the schema "millrace_bench_\w+" could not be made: permission/m)
  expect(err).toContain('Give the role CREATE')
})

test.each<readonly [what: string, words: readonly string[], why: string]>([
  ['no database', [], 'no database is named'],
  ['an embedded one', ['-d', './data'], 'a bench works on a server'],
  ['a schema', ['-d', 'postgres://localhost/none', '-s', 'orders'], 'a schema of its own'],
  ['a prefix', ['-d', 'postgres://localhost/none', '-p', 'x_'], 'a schema of its own'],
  ['no jobs', ['-d', 'postgres://localhost/none', '--jobs', '0'], 'a whole number, at least 1'],
  ['no runs', ['-d', 'postgres://localhost/none', '-c', 'many'], 'a whole number, at least 1'],
])('misuse is refused with exit code 2: %s', async (_what, words, why) => {
  const { code, err } = await millrace(['bench', ...words])
  expect(err).toContain(why)
  expect(code).toBe(2)
})

async function benchSchemas(): Promise<readonly unknown[]> {
  const schemas = await schemasOf(database.url)
  return schemas.filter((name) => String(name).startsWith('millrace_bench_'))
}

async function schemasOf(url: string): Promise<readonly unknown[]> {
  const rows = await runSql(
    url,
    String.raw`select nspname from pg_namespace where nspname !~ '^pg_' and nspname <> 'information_schema' order by nspname`,
  )
  return rows.map(({ nspname }) => nspname)
}

function withPassword(text: string): string {
  const url = new URL(text)
  url.password = 'secret'
  return url.href
}
