import { expect, test } from 'vitest'
import { contestOptions } from '../../bench/contest/options.ts'
import type { Part } from '../../bench/contest/options.ts'
import { GOALS, goalsText, verdictOn } from '../../bench/contest/goals.ts'
import { contendersOf } from '../../bench/contest/parts.ts'
import { contenderName } from '../../bench/contest/contenders.ts'
import { medianOf } from '../../bench/contest/samples.ts'
import type { Figures, Phase, Sample } from '../../bench/contest/samples.ts'
import { tablesText } from '../../bench/contest/tables.ts'

function sample(phase: Phase, contender: string, figures: Figures): Sample {
  return { phase, contender, figures }
}

const drains = [
  sample('drain', 'millrace best', {
    rate: 30_000,
    nodeMicros: 20,
    serverMicros: 30,
    rssBytes: 110e6,
  }),
  sample('drain', 'graphile-worker best', {
    rate: 10_000,
    nodeMicros: 40,
    serverMicros: 60,
    rssBytes: 100e6,
  }),
  sample('drain', 'pg-boss best', {
    rate: 24_000,
    nodeMicros: 40,
    serverMicros: 60,
    rssBytes: 200e6,
  }),
  sample('drain', 'bullmq best', { rate: 8_000, nodeMicros: 90, serverMicros: 50, rssBytes: 90e6 }),
]

function measured(what: string, against: string, samples: readonly Sample[]): number | null {
  const goal = GOALS.find((goal) => goal.what === what && goal.against === against)
  if (goal === undefined) throw new Error(`no goal "${what}" against "${against}"`)
  return goal.measure(samples)
}

test('a median is over the samples of one contender in one phase, without those it lacks', () => {
  const rates = [10, null, 30, 20].map((rate) => sample('drain', 'pg-boss best', { rate }))
  const others = [
    sample('bulk', 'pg-boss best', { rate: 1 }),
    sample('drain', 'bullmq best', { rate: 2 }),
  ]
  const asked = { phase: 'drain', contender: 'pg-boss best' } as const
  expect(medianOf([...rates, ...others], asked, 'rate')).toBe(20)
  expect(medianOf(others, asked, 'rate')).toBeNull()
})

test.each([
  ['drain, history kept', 'graphile-worker best', 3],
  ['drain, history kept', 'pg-boss best', 1.25],
  ['drain, history kept', 'BullMQ, concurrency 100', 3.75],
  ['CPU per job, node + server', 'graphile-worker best', 0.5],
  ['RSS while draining', 'leanest PostgreSQL peer', 1.1],
])('%s against %s is a ratio within the run', (what, against, expected) => {
  expect(measured(what, against, drains)).toBeCloseTo(expected)
})

test('the best peer is the fastest one, and Redis is none of the PostgreSQL peers', () => {
  const rates = { millrace: 6_000, 'graphile-worker': 500, 'pg-boss': 600, bullmq: 4_000 }
  const samples = Object.entries(rates).flatMap(([system, rate]) => [
    sample('in flight', `${system} best`, { rate }),
    sample('bulk', `${system} best`, { rate }),
  ])
  expect(measured('enqueue, 50 concurrent', 'best PostgreSQL peer', samples)).toBeCloseTo(10)
  expect(measured('enqueue in bulk', 'best peer', samples)).toBeCloseTo(1.5)
})

test('defaults are compared with graphile-worker at 24 runs at once, not with its own default', () => {
  const samples = [
    sample('drain defaults', 'millrace defaults', { rate: 5_000 }),
    sample('drain defaults', 'graphile-worker defaults', { rate: 100 }),
    sample('drain defaults', 'graphile-worker concurrent', { rate: 1_000 }),
  ]
  const against = 'graphile-worker, concurrency 24'
  expect(measured('drain with defaults', against, samples)).toBeCloseTo(5)
})

test('a goal is met at its bound, missed beyond it, and open where one side was not measured', () => {
  expect(verdictOn({ sign: '≥', value: 2 }, 2)).toBe('met')
  expect(verdictOn({ sign: '≥', value: 2 }, 1.99)).toBe('NOT MET')
  expect(verdictOn({ sign: '≤', value: 0.6 }, 0.6)).toBe('met')
  expect(verdictOn({ sign: '≤', value: 0.6 }, 0.61)).toBe('NOT MET')
  expect(verdictOn({ sign: '≤', value: 0.6 }, null)).toBe('not measured')
})

test('the table of goals names each with its measured value and its verdict', () => {
  const text = goalsText(drains)
  expect(text).toMatch(
    /\| drain, history kept +\| +graphile-worker best +\| +≥ 2 +\| +3\.00 +\| +met \|/,
  )
  expect(text).toMatch(
    /\| drain, history kept +\| +pg-boss best +\| +≥ 1\.4 +\| +1\.25 +\| +NOT MET \|/,
  )
  expect(text).toMatch(
    /\| latency p50 +\| +graphile-worker, best +\| +≤ 0\.6 +\| +– +\| +not measured \|/,
  )
})

test('each table has its contenders, their medians and Millrace against each', () => {
  const text = tablesText([...drains, sample('drain', 'bullmq best', { rate: 12_000 })])
  expect(text).toContain('### Drain, what completed is kept where it can be')
  expect(text).toMatch(/\| graphile-worker best +\| +10 000 \| +40\.0 \|.* 3\.00 × \|/)
  expect(text).toMatch(/\| bullmq best +\| +10 000 \|.* 3\.00 × \|/)
  expect(text).not.toContain('### Enqueue')
})

function namesIn(part: Part): readonly string[] {
  return contendersOf(part, contestOptions('peers', [])).map(contenderName)
}

test('each part is run by those that have an answer to it', () => {
  expect(namesIn('lean')).toEqual(['millrace lean', 'graphile-worker lean', 'bullmq lean'])
  expect(namesIn('snapshot')).toEqual(['millrace best', 'graphile-worker best', 'pg-boss steady'])
  expect(namesIn('latency')).toContain('bullmq prompt')
  expect(namesIn('defaults')).toContain('graphile-worker concurrent')
})

test.each([
  ['--jobs', '0', 'give a whole number from 1 up'],
  ['--minutes', '-1', 'give a number above 0'],
  ['--peers', 'other', 'take from millrace'],
  ['--only', 'drian', 'take from enqueue'],
])('%s %s is refused with what can be given', (option, word, cure) => {
  expect(() => contestOptions('peers', [`${option}=${word}`])).toThrow(`${option} got "${word}"`)
  expect(() => contestOptions('peers', [`${option}=${word}`])).toThrow(cure)
})
