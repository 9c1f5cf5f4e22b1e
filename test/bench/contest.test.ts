import { startServer } from '../support/postgres-server.ts'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { TestServer } from '../support/postgres-server.ts'
import { contestOptions } from '../../bench/contest/options.ts'
import { measureIdle } from '../../bench/contest/phases/idle.ts'
import { runContest } from '../../bench/contest/run.ts'
import { medianOf } from '../../bench/contest/samples.ts'
import type { Sample } from '../../bench/contest/samples.ts'

// Over the built package in processes of their own, as the bench itself; no peer is installed for it.
let server: TestServer

beforeAll(async () => {
  server = await startServer()
})

afterAll(async () => {
  await server.close()
})

// A process per measurement, on a machine that may be busy.
const PATIENCE = 180_000

const SMALL = ['--jobs', '600', '--rounds', '1', '--backlog', '900', '--minutes', '0.02']

function run(command: 'peers' | 'limit', words: readonly string[]): Promise<readonly Sample[]> {
  return runContest(server, contestOptions(command, [...SMALL, ...words]), {
    sample: () => {},
    failure(what, error) {
      throw new Error(what, { cause: error })
    },
  })
}

test('each part of the contest measures Millrace', { timeout: PATIENCE }, async () => {
  const parts = 'enqueue,drain,lean,defaults,steady,backlog,snapshot'
  const samples = await run('peers', ['--peers', 'millrace', '--only', parts, '--rate', '300'])
  expect(samples.map(({ phase, contender }) => `${phase}: ${contender}`)).toEqual([
    'one by one: millrace best',
    'in flight: millrace best',
    'bulk: millrace best',
    'drain: millrace best',
    'drain lean: millrace lean',
    'drain defaults: millrace defaults',
    'steady: millrace best',
    'backlog: millrace best',
    'snapshot: millrace best',
  ])
  for (const { figures } of samples) {
    expect(figures.rate).toBeGreaterThan(0)
    expect(figures.nodeMicros).toBeGreaterThan(0)
    expect(figures.walBytes).toBeGreaterThan(200)
    expect(figures.rssBytes).toBeGreaterThan(20e6)
  }
  const snapshot = { phase: 'snapshot', contender: 'millrace best' } as const
  expect(medianOf(samples, snapshot, 'missing')).toBe(0)
  // A ready row and a lease per job that the held snapshot keeps from being cleaned up.
  expect(medianOf(samples, snapshot, 'dead')).toBeGreaterThan(300)
  expect(medianOf(samples, snapshot, 'p50')).toBeLessThanOrEqual(
    medianOf(samples, snapshot, 'p99') ?? Number.NaN,
  )
})

test(
  'the bare loop drains the same jobs by the statements of the package',
  { timeout: PATIENCE },
  async () => {
    const samples = await run('limit', ['--only', 'drain'])
    for (const contender of ['millrace best', 'bare-loop best']) {
      expect(medianOf(samples, { phase: 'drain', contender }, 'rate')).toBeGreaterThan(0)
      // Each job left a place in line and a lease behind it.
      expect(medianOf(samples, { phase: 'drain', contender }, 'dead')).toBeGreaterThanOrEqual(1_200)
    }
  },
)

test('an idle worker is watched by counting what it asks', { timeout: PATIENCE }, async () => {
  const figures = await measureIdle({ system: 'millrace', mode: 'defaults' }, 1)
  // In its first seconds a worker still sets things up; a loop that spins would ask hundreds of times.
  expect(figures.statements).toBeGreaterThanOrEqual(0)
  expect(figures.statements).toBeLessThan(50)
})
