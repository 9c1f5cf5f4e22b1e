import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Fact } from './fact.ts'
import { faultsOf } from './faults.ts'
import { drawnHistory, histories } from './drawn.ts'
import { MUTATIONS } from './mutations.ts'

test('no history that keeps the promise is found at fault', () => {
  fc.assert(
    fc.property(histories, (drawn) => {
      expect(faultsOf(drawnHistory(drawn))).toEqual([])
    }),
    { numRuns: 300 },
  )
})

test.each([...MUTATIONS])('whatever the history, it is found that %s', (_what, mutation) => {
  let planted = 0
  fc.assert(
    fc.property(histories, fc.nat(), (drawn, which) => {
      const facts: readonly Fact[] = drawnHistory(drawn)
      const mutant = mutation(facts, which)
      if (mutant === undefined) return
      planted += 1
      expect(faultsOf(mutant)).not.toEqual([])
    }),
    { numRuns: 60 },
  )
  expect(planted, 'histories that the fault could be planted in').toBeGreaterThan(10)
})
