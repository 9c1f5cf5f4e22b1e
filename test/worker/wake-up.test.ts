import { expect, test } from 'vitest'
import { makeId } from '../../src/core/id.ts'
import { defineJob, typed } from '../../src/index.ts'
import { manualSetup, setup } from '../support/mill.ts'
import type { Setup, SetupOptions } from '../support/mill.ts'
import { watchStatements } from '../support/statements.ts'
import { endlessly } from '../support/endlessly.ts'
import { until } from '../support/until.ts'

const visit = defineJob('visit', { input: typed<string>() })
const LISTENER_OR_NOT = [{ wake: 'listen' }, { wake: 'poll' }] as const

interface Bench extends Setup {
  readonly started: readonly string[]
}

/** A worker at work that has nothing to do, its marks moved forward by a first job. */
async function idleWorker(options: SetupOptions = {}): Promise<Bench> {
  const bench = await setup(options)
  const started: string[] = []
  const worker = bench.mill.worker().handle(visit, (name) => {
    started.push(name)
  })
  await bench.mill.enqueue(visit, 'first')
  await worker.start()
  await until(() => started.length === 1)
  if (options.wake !== 'poll') await until(() => isListening(bench))
  return { ...bench, started }
}

test('C7: a worker that sleeps wakes for a new job long before its poll', async () => {
  await using bench = await idleWorker()
  using statements = watchStatements(bench.schema)
  await statements.quiet()
  await bench.mill.enqueue(visit, 'second')
  await until(() => bench.started.includes('second'), { ms: 10_000 })
})

test('C7: it wakes at the soonest due time of its queues, not before', async () => {
  await using bench = await manualSetup()
  const { mill, clock } = bench
  const started: string[] = []
  const worker = mill.worker({ queues: ['a', 'b'] }).handle(visit, (name) => {
    started.push(name)
  })
  await mill.enqueue(visit, 'later', { queue: 'a', delay: '20s' })
  await mill.enqueue(visit, 'sooner', { queue: 'b', delay: '10s' })
  using statements = watchStatements(bench.schema)
  await worker.start()
  await until(() => isListening(bench))
  // Many claims in one millisecond do not run ahead of the clock.
  for (const count of [1, 2, 3, 4, 5]) {
    await mill.enqueue(visit, 'at once', { queue: 'a' })
    await until(() => started.length === count)
  }
  await statements.quiet()
  clock.advance(9_999)
  await statements.quiet()
  expect(started).toHaveLength(5)
  clock.advance(1)
  await until(() => started.length === 6)
  await statements.quiet()
  clock.advance(10_000)
  await until(() => started.length === 7)
  expect(started.slice(5)).toEqual(['sooner', 'later'])
})

test('C7: a job due later than any timer holds does not make the worker spin', async () => {
  await using bench = await idleWorker()
  using statements = watchStatements(bench.schema)
  await bench.mill.enqueue(visit, 'far', { delay: '52w' })
  await bench.mill.enqueue(visit, 'near')
  await until(() => bench.started.includes('near'))
  await statements.quiet(500)
})

// They wait for the most part: beside each other.
test.concurrent.each(LISTENER_OR_NOT)(
  'race 18: due rows that an open transaction locked start soon after it rolls back, with $wake',
  async (options) => {
    await using bench = await idleWorker(options)
    const { mill, sql, started } = bench
    using statements = watchStatements(bench.schema)
    await mill.enqueue(visit, 'locked', { delay: 1_000 })
    await sql.query('begin')
    await sql.query('select from ready for update')
    // Looked for in vain for so long that the pauses have grown to their full length.
    await until(() => statements.count('claim_jobs') > 12, { ms: 30_000 })
    expect(started).toEqual(['first'])
    await sql.query('rollback')
    await until(() => started.includes('locked'), { ms: 5_000 })
  },
)

test.each(LISTENER_OR_NOT)(
  'marks: a job whose commit came long after others is found, with $wake',
  async (options) => {
    await using bench = await idleWorker(options)
    const { mill, sql, started } = bench
    await sql.query('begin')
    await mill.in(sql).enqueue(visit, 'late')
    await until(() => isOld(bench))
    await mill.enqueue(visit, 'meanwhile')
    await until(() => started.includes('meanwhile'))
    await sql.query('commit')
    await until(() => started.includes('late'), { ms: 10_000 })
  },
)

test('marks: what commits late is found while a stream of others keeps the worker busy', async () => {
  await using bench = await idleWorker({ wake: 'poll' })
  const { mill, sql, started } = bench
  await sql.query('begin')
  await mill.in(sql).enqueue(visit, 'late')
  await until(() => isOld(bench))
  const stream = endlessly(() =>
    mill.enqueueMany(
      visit,
      Array.from({ length: 50 }, () => 'more'),
    ),
  )
  try {
    await until(() => started.length > 500)
    await sql.query('commit')
    await until(() => started.includes('late'), { ms: 15_000 })
  } finally {
    await stream.stop()
  }
})

test('marks: what commits late is found while others are always due within a second', async () => {
  await using bench = await idleWorker({ wake: 'poll' })
  const { mill, sql, started } = bench
  await sql.query('begin')
  await mill.in(sql).enqueue(visit, 'late')
  await until(() => isOld(bench))
  const delays = Array.from({ length: 50 }, (_, index) => index * 400)
  for (const delay of delays) await mill.enqueue(visit, 'tick', { delay })
  await sql.query('commit')
  await until(() => started.includes('late'), { ms: 15_000 })
  expect(started.filter((name) => name === 'tick').length).toBeLessThan(delays.length)
})

test.each(LISTENER_OR_NOT)(
  'marks: a job put in line with an older due time, and announced by nobody, is found, with $wake',
  async ({ wake }) => {
    await using bench = await idleWorker({ wake })
    const { mill, sql, started } = bench
    const id = makeId(1)
    await sql.query(
      `insert into jobs (id, kind, queue, payload, priority, created_at)
       values ($1, 'visit', 'default', '"old"', 5, now())`,
      [id],
    )
    await sql.query(
      `insert into ready (job_id, queue, kind, due_at, lease_ms, run, failures, priority)
       values ($1, 'default', 'visit', '2001-01-01', 60000, 0, 0, 5)`,
      [id],
    )
    // With a listener it would be found by the poll, after 30 s; other jobs bring it forward.
    if (wake === 'listen') await mill.enqueue(visit, 'another')
    await until(() => started.includes('old'), { ms: 15_000 })
  },
)

async function isListening({ sql }: Setup): Promise<boolean> {
  const { rows } = await sql.query(
    `select from pg_stat_activity
     where application_name = 'millrace listen' and state = 'idle' and datname = current_database()`,
  )
  return rows.length > 0
}

/** Whether the open transaction of the test's session began so long ago that marks have passed it. */
async function isOld({ sql }: Setup): Promise<boolean> {
  const { rows } = await sql.query<{ old: boolean }>(
    `select clock_timestamp() - now() > interval '1 second' as old`,
  )
  return rows[0]?.old === true
}
