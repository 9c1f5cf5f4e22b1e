import { afterAll, beforeAll, expect, test } from 'vitest'
import { defineJob, migrations, open } from 'millrace'
import type { Mill } from 'millrace'
import { millrace, startMillrace } from '../support/command-line.ts'
import { freshDatabase } from '../support/database.ts'
import type { FreshDatabase } from '../support/database.ts'
import { runSql } from '../support/sql.ts'
import { until } from '../support/until.ts'

const visit = defineJob('visit')
const schema = 'inside'
let database: FreshDatabase
let mill: Mill

beforeAll(async () => {
  database = await freshDatabase()
  await using tables = migrations(database.url, { schema })
  await tables.up()
  mill = await open(database.url, { schema })
})

afterAll(async () => {
  await mill.close()
  await database.drop()
})

const place = () => ['-d', database.url, '-s', schema]

test('H3: jobs explain says in one sentence why a job waits, and the rest below it', async () => {
  const { id } = await mill.enqueue(visit, undefined, { queue: 'quiet' })
  await mill.queues.pause('quiet')
  const { code, out } = await millrace(['jobs', 'explain', id, ...place()])
  expect(code).toBe(0)
  const [first, second] = out.split('\n')
  expect(first).toMatch(
    /^it is not running because queue "quiet" is paused since \S+Z \(and 1 more\)$/,
  )
  expect(second).toBe('  also: no-worker {"queue":"quiet","kind":"visit","lastSeenAt":null}')

  const json = await millrace(['jobs', 'explain', id, '--json', ...place()])
  expect(JSON.parse(json.out)).toMatchObject({ id, state: 'pending', reasons: [{}, {}] })
  const none = await millrace(['jobs', 'explain', '01ARZ3NDEKTSV4RRFFQ69G5FAV', ...place()])
  expect(none).toMatchObject({ code: 1, err: expect.stringContaining('UNKNOWN_JOB') })
})

test('H5: stats prints a line for each queue and kind, and the document when asked', async () => {
  await mill.enqueue(visit, undefined, { queue: 'counted', delay: '1h' })
  const { code, out } = await millrace(['stats', ...place()])
  expect(code).toBe(0)
  expect(out).toMatch(/^queue +kind +due +oldest +scheduled/)
  expect(out).toMatch(/^counted +visit +0 +- +1 /m)
  expect(out).toMatch(/^total /m)
  expect(out).toMatch(/0 workers, 0 of 0 slots busy\n$/)
  const json = await millrace(['stats', '--json', ...place()])
  expect(JSON.parse(json.out)).toMatchObject({ workers: { alive: 0 }, queues: expect.any(Array) })
})

test('H5: stats --watch goes on until it is interrupted, one line a look for programs', async () => {
  const child = startMillrace(['stats', '--watch', '--every', '50ms', '--json', ...place()])
  let out = ''
  child.stdout.on('data', (chunk: Buffer) => {
    out += chunk.toString()
  })
  await until(() => out.split('\n').length > 3)
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve))
  child.kill('SIGINT')
  expect(await ended).toBe(0)
  for (const line of out.trim().split('\n')) expect(JSON.parse(line)).toHaveProperty('total')
})

test('G3: verify is content with what the migrations made, and exits 1 with every disagreement', async () => {
  const sound = await millrace(['verify', ...place()])
  expect(sound).toMatchObject({
    code: 0,
    out: expect.stringMatching(/^the database fits all \d+ statements\n$/),
  })

  await runSql(database.url, 'alter table inside.workers rename column busy to active')
  const broken = await millrace(['verify', ...place()])
  const json = await millrace(['verify', '--json', ...place()])
  await runSql(database.url, 'alter table inside.workers rename column active to busy')

  expect(broken.code).toBe(1)
  expect(broken.out).toMatch(/^tell_worker:\d+:\d+: column "busy" /m)
  expect(broken.out).toMatch(
    /^ {2}alter table "inside"."workers" add column "busy" integer not null$/m,
  )
  expect(json.code).toBe(1)
  expect(JSON.parse(json.out).disagreements).toContainEqual(
    expect.objectContaining({ statement: 'tell_worker', line: expect.any(Number) }),
  )
  const none = await millrace(['verify', '-d', database.url, '-s', 'nowhere'])
  expect(none).toMatchObject({ code: 1, err: expect.stringContaining('NOT_MIGRATED') })
})
