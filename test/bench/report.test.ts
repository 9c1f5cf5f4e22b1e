import { expect, test } from 'vitest'
import { benchOptions } from '../../bench/options.ts'
import type { Usage } from '../../bench/place.ts'
import { median, reportText } from '../../bench/report.ts'
import type { Round } from '../../bench/round.ts'

const environment = {
  node: 'v20.20.2',
  postgres: '18.4',
  cores: 2,
  processor: 'a processor',
  settings: { fsync: 'on' },
}

function usage(changes: Partial<Usage> = {}): Usage {
  return {
    elapsedMs: 10_000,
    nodeMs: 2_500,
    serverMs: 4_000,
    walBytes: 130_000_000,
    wholePages: 1_800,
    ...changes,
  }
}

function round(elapsedMs: number): Round {
  const drain = { concurrency: 10, jobs: 100_000, rssBytes: 120e6 }
  return {
    drains: [{ ...drain, enqueue: usage(), drain: usage({ elapsedMs }) }],
    enqueue: { oneByOne: 1_000, inFlight: 11_000, inFlightCount: 50 },
    latency: { jobs: 300, everyMs: 20, p50: 3.14, p99: 8.44 },
    memory: {
      early: { jobs: 20_000, rssBytes: 150e6, heapBytes: 20e6 },
      end: { jobs: 200_000, rssBytes: 152e6, heapBytes: 20e6 },
    },
  }
}

test('the block shows the median of the rounds, per job and per second', () => {
  const options = benchOptions(['--rounds', '3'])
  const text = reportText(environment, options, [round(10_000), round(50_000), round(5_000)])
  expect(text).toMatch(/^drain, concurrency 10 +10 000 +25 \+ 40 +1 300 +1 800$/m)
  expect(text).toContain('medians of 3 rounds')
  expect(text).toContain('p50 3.1 ms, p99 8.4 ms')
  expect(text).toContain('RSS 150 MB at 20 000 jobs, 152 MB at 200 000')
})

test('server time that cannot be read is unknown, not zero', () => {
  const drain = { concurrency: 10, jobs: 1_000, rssBytes: 1 }
  const unread = { ...drain, enqueue: usage(), drain: usage({ serverMs: null }) }
  const rounds = [{ drains: [unread], enqueue: null, latency: null, memory: null }]
  expect(reportText(environment, benchOptions([]), rounds)).toContain('+ unknown')
})

test('the median of an even number of values lies between the two in the middle', () => {
  expect(median([4, 1, 3, 2])).toBe(2.5)
})

test.each([['0'], ['1.5'], ['many']])('--jobs %s is refused', (word) => {
  expect(() => benchOptions(['--jobs', word])).toThrow(`--jobs got "${word}"`)
})

test('a phase that is none is refused, with those that there are', () => {
  expect(() => benchOptions(['--only', 'drain,streams'])).toThrow(
    '--only got "streams": name one of memory, drain',
  )
})
