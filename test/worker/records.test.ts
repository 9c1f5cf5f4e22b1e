import { expect, test } from 'vitest'
import { defineJob, typed } from '../../src/index.ts'
import type { JobRecord, Run } from '../../src/index.ts'
import { assertRunsRecordedOnce, setup } from '../support/mill.ts'
import { until } from '../support/until.ts'

const once = defineJob('once', {
  input: typed<unknown>(),
  result: typed<unknown>(),
  retry: { failures: 1 },
})
const dropped = defineJob('dropped', { retry: { failures: 1 } })
const SIX = String.raw`\u0000`

/** The job after its one run. */
async function ended(
  handler: (input: unknown, run: Run<typeof once>) => unknown,
  input: unknown = 'x',
): Promise<JobRecord<typeof once>> {
  await using bench = await setup()
  const { mill, sql, schema } = bench
  const worker = mill.worker().handle(once, handler)
  const { id } = await mill.enqueue(once, input)
  await worker.start()
  await until(async () => (await sql.query('select from finished')).rows.length === 1)
  await assertRunsRecordedOnce(sql, schema)
  const job = await mill.jobs.get(once, id)
  if (job === null) throw new Error('the job has no record')
  return job
}

test('O2, replay 1: an error with U+0000 and half a surrogate pair is recorded, readable, once', async () => {
  const job = await ended(() => {
    throw new Error('bad \u0000 byte \ud800 here')
  })
  expect(job).toMatchObject({
    state: 'dead',
    run: 1,
    error: { message: 'bad \uFFFD byte \uFFFD here' },
  })
})

test('O2, replay 2: a result with U+0000 and half a surrogate pair comes back as it was', async () => {
  const job = await ended(() => ({ r: '\u0000', s: '\ud800', '\u0000': 1 }))
  expect(job).toMatchObject({
    state: 'completed',
    result: { r: '\u0000', s: '\ud800', '\u0000': 1 },
  })
})

test('O2, replay 3: the six characters of an escaped U+0000 pass unchanged everywhere', async () => {
  const completed = await ended((input, run) => {
    run.note(SIX)
    run.attach([SIX])
    return input
  }, SIX)
  expect(completed).toMatchObject({ input: SIX, result: SIX, note: SIX, attachment: [SIX] })
  const dead = await ended(() => {
    throw new Error(SIX)
  })
  expect(dead).toMatchObject({ error: { message: SIX } })
})

const circular = new Error('round')
circular.cause = new Error('and', { cause: circular })

test.each<[string, () => unknown, object]>([
  [
    'a stack of 5 MB',
    () => Object.assign(new Error('big'), { stack: 'x'.repeat(5e6) }),
    { message: 'big', truncated: true },
  ],
  ['a message of 5 MB', () => new Error('y'.repeat(5e6)), { name: 'Error', truncated: true }],
  ['a circle of causes', () => circular, { message: 'round' }],
  [
    'an AggregateError of 1 000',
    () =>
      new AggregateError(
        Array.from({ length: 1_000 }, (_, index) => new Error(`no ${index}`)),
        'all',
      ),
    { name: 'AggregateError', message: 'all' },
  ],
  ['a string', () => 'just text', { name: 'NonError', message: 'just text' }],
  ['undefined', () => undefined, { name: 'NonError' }],
  [
    'an object with a getter that throws',
    () => ({
      get message() {
        throw new Error('trap')
      },
    }),
    {},
  ],
  ['a proxy that refuses everything', () => hostile(), {}],
  [
    'an error with a name that throws',
    () =>
      Object.defineProperty(new Error('named'), 'name', {
        get: () => {
          throw new Error('trap')
        },
      }),
    { message: 'named' },
  ],
])('O2, replay 5: %s is recorded, cut to size, and never fatal', async (_what, make, expected) => {
  const job = await ended(() => {
    throw make()
  })
  if (job.state !== 'dead' || job.error === null) throw new Error('it was not recorded')
  expect(job.error).toMatchObject(expected)
  // Whatever was thrown, people can read something.
  expect(job.error.message).not.toBe('')
  expect(Buffer.byteLength(JSON.stringify(job.error))).toBeLessThan(32_768)
})

test.each<[string, () => unknown, string]>([
  ['a bigint', () => ({ total: 1n }), 'total'],
  ['a Date', () => ({ at: new Date(0) }), 'at'],
  ['NaN', () => [1, Number.NaN], '[1]'],
  [
    'a circle',
    () => {
      const self: { me?: unknown } = {}
      self.me = self
      return self
    },
    'me',
  ],
])(
  'O3: a declared result that JSON cannot hold, %s, fails the run and says where',
  async (_what, make, path) => {
    const job = await ended(make)
    expect(job).toMatchObject({ state: 'dead', failures: 1, error: { name: 'TypeError' } })
    if (job.state !== 'dead') throw new Error('it is not dead')
    expect(job.error?.message).toMatch(/^the result cannot be stored: /)
    expect(job.error?.message).toContain(path)
  },
)

test('O3: what a kind without a declared result returns is dropped, whatever it is', async () => {
  await using bench = await setup()
  const { mill, sql } = bench
  const worker = mill.worker().handle(dropped, () => ({ answer: 1n, socket: process.stdout }))
  const { id } = await mill.enqueue(dropped)
  await worker.start()
  await until(async () => (await sql.query('select from finished')).rows.length === 1)
  expect(await mill.jobs.get(id)).toMatchObject({ state: 'completed', result: undefined })
})

test('O3: an attachment that JSON cannot hold throws where it is made; the one before it stays', async () => {
  const job = await ended((_input, run) => {
    run.attach({ kept: true })
    expect(() => run.attach({ at: 1n })).toThrow(/at: JSON has no bigint/)
  })
  expect(job).toMatchObject({ state: 'completed', attachment: { kept: true } })
})

test('O2: a note is cut to 8 kB with a mark, and made safe', async () => {
  const job = await ended((_input, run) => run.note(`\u0000${'é'.repeat(9_000)}`))
  if (job.state !== 'completed') throw new Error('it did not complete')
  expect(Buffer.byteLength(job.note ?? '')).toBeLessThanOrEqual(8_192)
  expect(job.note).toMatch(/^\uFFFDéé.*truncated\]$/s)
})

test('O2: notes and attachments of a megabyte in many runs at once settle', async () => {
  await using bench = await setup()
  const { mill, sql } = bench
  const worker = mill.worker({ concurrency: 20 }).handle(once, (_input, run) => {
    run.attach('a'.repeat(1e6))
    return 'b'.repeat(1e6)
  })
  await mill.enqueueMany(
    once,
    Array.from({ length: 20 }, () => 'x'),
  )
  await worker.start()
  await until(async () => (await sql.query('select from finished')).rows.length === 20)
  const { rows } = await sql.query(
    `select count(*)::int as right from finished
     where length(result::text) = 1000002 and length(attachment::text) = 1000002`,
  )
  expect(rows).toEqual([{ right: 20 }])
})

function refuse(): never {
  throw new Error('trap')
}

function hostile(): object {
  const traps = { get: refuse, has: refuse, ownKeys: refuse, getPrototypeOf: refuse }
  return new Proxy({}, { ...traps, getOwnPropertyDescriptor: refuse })
}
