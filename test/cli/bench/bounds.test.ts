import { expect, test } from 'vitest'
import { adviceOf, boundOf, ms } from '../../../src/cli/bench/bounds.ts'
import type { Figures, Phase } from '../../../src/cli/bench/figures.ts'

const figures: Figures = {
  server: { version: '18.4', synchronousCommit: 'on' },
  roundTripMs: 0.1,
  commitMs: 0.7,
  phases: [],
  latency: { jobs: 100, p50: 2, p99: 5 },
}

const oneByOne: Phase = {
  name: 'one-by-one',
  title: 'enqueue, one by one',
  jobs: 100,
  elapsedMs: 100,
  nodeMs: 20,
}
const drain: Phase = {
  name: 'drain',
  title: 'drain',
  jobs: 10_000,
  elapsedMs: 1_000,
  nodeMs: 950,
}

test.each<readonly [what: string, phase: Phase, given: Partial<Figures>, bound: string]>([
  ['a commit that is most of it', oneByOne, {}, 'the commit, 0.70 ms of 1.0 ms'],
  [
    'an answer that is most of it',
    oneByOne,
    { commitMs: 0.5, roundTripMs: 0.8 },
    'the round trip, 0.80 ms of 1.0 ms',
  ],
  ['neither', oneByOne, { commitMs: 0.3 }, 'the statement, 1.0 ms with a commit of 0.30 ms'],
  ['a busy process', drain, {}, 'this process, 95 % of a core'],
  [
    'a process that waits',
    { ...drain, nodeMs: 400 },
    {},
    'the server and the way to it; this process 40 % of a core',
  ],
])('what bounds a phase: %s', (_what, phase, given, bound) => {
  expect(boundOf(phase, { ...figures, ...given })).toBe(bound)
})

test.each<readonly [what: string, given: Partial<Figures>, advice: RegExp]>([
  ['a slow commit', { commitMs: 5 }, /^A commit takes 5\.0 ms: .* 200 jobs\/s at most/],
  ['a server far away', { roundTripMs: 2.5 }, /^The server is 2\.5 ms away/],
  [
    'callers that share',
    { phases: [oneByOne, { ...oneByOne, name: 'callers', jobs: 2_000 }] },
    /enqueue 20 × as much/,
  ],
  [
    'a concurrency that pays',
    { phases: [{ ...drain, name: 'drain-default', jobs: 5_000 }, drain] },
    /^The higher concurrency drains 2\.0 ×/,
  ],
  [
    'one that does not',
    { phases: [{ ...drain, name: 'drain-default' }, drain] },
    /^A higher concurrency gains little/,
  ],
  ['a busy worker', { phases: [drain] }, /a second process adds to it/],
  [
    'a busy server',
    { phases: [{ ...drain, nodeMs: 300 }] },
    /^More worker processes help only if the server/,
  ],
  [
    'commits that are not waited for',
    { server: { version: '18.4', synchronousCommit: 'off' } },
    /^synchronous_commit is off/,
  ],
])('advice: %s', (_what, given, advice) => {
  const lines = adviceOf({ ...figures, ...given })
  expect(lines.some((line) => advice.test(line))).toBe(true)
})

test('where nothing stands out there is no advice', () => {
  expect(adviceOf(figures)).toEqual([])
})

test.each<readonly [number, string]>([
  [0.123, '0.12 ms'],
  [5.26, '5.3 ms'],
  [123.4, '123 ms'],
])('%d milliseconds read %s', (value, text) => {
  expect(ms(value)).toBe(text)
})
