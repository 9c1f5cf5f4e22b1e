import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { millrace, startMillrace } from '../support/command-line.ts'
import { freshDatabase } from '../support/database.ts'
import type { FreshDatabase } from '../support/database.ts'
import { runSql } from '../support/sql.ts'

let database: FreshDatabase
let folder: string

beforeAll(async () => {
  database = await freshDatabase()
  folder = await mkdtemp(join(tmpdir(), 'millrace-test-demo-'))
})

afterAll(async () => {
  await database.drop()
  await rm(folder, { recursive: true })
})

const SLOW = { timeout: 180_000 }

test(
  'the demo processes 329 webhooks on an embedded database, adds up, and its next commands work',
  SLOW,
  async () => {
    // Somebody's real database: a demo that was not told to must not touch it.
    const env = { TMPDIR: folder, DATABASE_URL: database.url }

    const { code, out, err } = await millrace(['demo', '--json'], { env })

    expect({ code, err }).toEqual({ code: 0, err: '' })
    const report: Report = JSON.parse(out)
    expect(report).toMatchObject({ deliveries: 329, addsUp: true, schema: 'millrace' })
    expect(report.summary.total).toMatchObject({ jobs: 329, runs: 352, failures: 24 })
    expect(report.summary.kinds).toHaveLength(58)
    expect(report.stream).toEqual({
      stream: 'github.activities',
      head: 328,
      consumer: 'totals',
      lag: 0,
    })
    expect(report.summary.others).toMatchObject({ kind: '48 other kinds', jobs: 186 })
    expect(report.summary.retried.journal.map(({ outcome }) => outcome)).toEqual([
      'retried',
      'completed',
    ])
    for (const command of report.next) {
      const words = command.split(' ').slice(2)
      const next = await millrace(words)
      expect({ command, code: next.code, err: next.err.replace(/^more: .*\n$/, '') }).toEqual({
        command,
        code: 0,
        err: '',
      })
      expect(next.out).toMatch(/github\.|retried|running-totals|"delivery"/)
    }
    expect(await schemasOf(database.url)).toEqual(['public'])
  },
)

interface Report {
  readonly summary: {
    readonly total: object
    readonly kinds: readonly object[]
    readonly others: object
    readonly retried: { readonly journal: readonly { readonly outcome: string }[] }
  }
  readonly stream: object
  readonly next: readonly string[]
}

test(
  'on a server the demo works in two schemas of its own, can be repeated, and removes them',
  SLOW,
  async () => {
    await runSql(database.url, 'create table public.precious as select 1 as one')

    const first = await millrace(['demo', '-d', database.url])
    const second = await millrace(['demo', '-d', withPassword(database.url)])

    for (const { code, out, err } of [first, second]) {
      expect({ code, err: err.split('\n')[0] }).toEqual({
        code: 0,
        err: '329 GitHub webhooks arrive and are processed, on a PostgreSQL server',
      })
      expect(out).toContain('329 jobs ended')
      expect(out).toContain('has 328 events')
      expect(err).toMatch(/totals so far: \d+ webhooks, \d+ commits, \d+ comments/)
      expect(out).toContain('23 failed and were retried, one gave up')
      expect(out).toContain('Codertocat/Hello-World')
      expect(out).toContain('It adds up')
      expect(out).not.toContain('✗')
    }
    expect(first.out).toContain(`--state dead --database ${database.url} --schema millrace_demo\n`)
    // A password is not printed: the commands find the URL in DATABASE_URL.
    expect(second.out).toContain('npx millrace jobs list --state dead --schema millrace_demo\n')
    expect(second.out + second.err).not.toContain('secret')
    expect(await schemasOf(database.url)).toEqual(['millrace_demo', 'millrace_demo_app', 'public'])
    const removed = await millrace(['demo', '--remove', '-d', database.url])
    expect(removed).toEqual({
      code: 0,
      out: 'removed millrace_demo\nremoved millrace_demo_app\n',
      err: '',
    })
    expect(await schemasOf(database.url)).toEqual(['public'])
    expect(await runSql(database.url, 'select one from public.precious')).toEqual([{ one: 1 }])
  },
)

test('a demo whose tables do not add up says what is wrong and exits 1', SLOW, async () => {
  await using other = await freshDatabase()
  await runSql(other.url, COUNT_WRONG)

  const { code, out } = await millrace(['demo', '-d', other.url])

  expect(code).toBe(1)
  expect(out).toContain('It does not add up:')
  expect(out).toContain('✗ the sums by repository match a recount of the payloads')
  expect(out).toMatch(
    /repository octo-org\/octo-repo is .*"comments":19}, expected .*"comments":1}/,
  )
  expect(out).toContain('… and 10 more')
})

// Whoever makes the table of the sums gets a trigger with it that counts a comment too many.
const COUNT_WRONG = `
create function spoil() returns trigger language plpgsql as $$
begin
  new.comments := new.comments + 1;
  return new;
end $$;
create function plant() returns event_trigger language plpgsql as $$
begin
  if exists (
    select from pg_event_trigger_ddl_commands()
    where object_identity = 'millrace_demo_app.repositories'
  ) then
    create trigger spoil before insert on millrace_demo_app.repositories
    for each row execute function public.spoil();
  end if;
end $$;
create event trigger plant on ddl_command_end when tag in ('CREATE TABLE')
execute function plant()`

test('a schema that no demo made is refused and left as it is', async () => {
  await using other = await freshDatabase()
  await runSql(other.url, 'create schema orders; create table orders.precious as select 1 as one')

  const ran = await millrace(['demo', '-d', other.url, '-s', 'orders'])
  const removed = await millrace(['demo', '--remove', '-d', other.url, '-s', 'orders'])

  for (const { code, err } of [ran, removed]) {
    expect(code).toBe(2)
    expect(err).toContain('"--schema" got "orders"')
    expect(err).toContain('no demo made it')
  }
  expect(await runSql(other.url, 'select one from orders.precious')).toEqual([{ one: 1 }])
  expect(await schemasOf(other.url)).toEqual(['orders', 'public'])
})

test('a server that cannot be reached is exit code 3, as everywhere', async () => {
  const { code, err } = await millrace(['demo', '-d', 'postgres://localhost:1/none'])
  expect(code).toBe(3)
  expect(err).toContain('DATABASE: ')
})

test.each<readonly [what: string, words: readonly string[], why: string]>([
  [
    'a directory, which another process may have open',
    ['-d', './data'],
    'the demo works on a server',
  ],
  ['nothing to remove from', ['--remove'], 'name the server'],
  [
    'a schema whose name leaves no room',
    ['-d', 'postgres://localhost/none', '-s', 's'.repeat(60)],
    'at most 59 bytes',
  ],
])('misuse is refused with exit code 2: %s', async (_what, words, why) => {
  const { code, err } = await millrace(['demo', ...words], { env: { TMPDIR: folder } })
  expect(err).toContain(why)
  expect(code).toBe(2)
})

test(
  'SIGINT stops the demo in good order: exit code 1, and a new directory is gone again',
  SLOW,
  async () => {
    const own = await mkdtemp(join(folder, 'stopped-'))
    const child = startMillrace(['demo'], { env: { TMPDIR: own } })
    let out = ''
    let isAsked = false
    child.stdout.on('data', (chunk) => (out += chunk))
    child.stderr.on('data', (chunk) => {
      if (isAsked || !String(chunk).includes('arrived')) return
      isAsked = true
      child.kill('SIGINT')
    })
    const code = await new Promise((resolve) => child.on('close', resolve))
    expect({ code, out }).toEqual({ code: 1, out: 'stopped before the end\n' })
    expect(await readdir(own)).toEqual([])
  },
)

function withPassword(text: string): string {
  const url = new URL(text)
  url.password = 'secret'
  return url.href
}

async function schemasOf(url: string): Promise<readonly unknown[]> {
  const rows = await runSql(
    url,
    String.raw`select nspname from pg_namespace where nspname !~ '^pg_' and nspname <> 'information_schema' order by nspname`,
  )
  return rows.map(({ nspname }) => nspname)
}
