import { expect, test } from 'vitest'
import { manualClock } from '../../src/core/manual-clock.ts'
import type { Lane } from '../../src/database/executor.ts'
import { roster } from '../../src/worker/roster.ts'
import { strays } from '../../src/worker/strays.ts'
import type { Strays } from '../../src/worker/strays.ts'

const SEEK_MS = 60_000
const clock = manualClock(1_000_000)

/** A database that holds no lease of a lost claim. */
const nothingFound: Lane = {
  ready: async () => {},
  run: async () => [],
  transaction: () => Promise.reject(new Error('strays make no transactions')),
  close: async () => {},
}

function noStrays(): Strays {
  return strays({
    worker: 'host:1:a',
    clock,
    lane: nothingFound,
    roster: roster(),
    seekMs: SEEK_MS,
    hintUntil: () => 'infinity',
  })
}

test('C8: a claim is under way until its answer came, and leaves nothing behind', async () => {
  const sought = noStrays()
  sought.begin(1)
  expect(sought.isUnderWay(1)).toBe(true)
  sought.answered(1)
  expect(sought.isUnderWay(1)).toBe(false)
  expect(sought.areSought).toBe(false)
})

test('C8: a claim whose answer was lost is looked for until one lease has passed, then forgotten', async () => {
  const sought = noStrays()
  sought.begin(2)
  sought.lost(2)
  expect(sought.isUnderWay(2)).toBe(false)
  await sought.returnAll()
  expect(sought.areSought).toBe(true)
  clock.advance(SEEK_MS + 1)
  await sought.returnAll()
  expect(sought.areSought).toBe(false)
})
