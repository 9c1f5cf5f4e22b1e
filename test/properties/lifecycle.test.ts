import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { databaseOfFile } from '../support/mill.ts'
import { draws } from './lifecycle-acts.ts'
import { lifeMill } from './lifecycle-mill.ts'
import { sequence } from './lifecycle-sequence.ts'
import type { Counts } from './lifecycle-sequence.ts'

test('whatever is done to jobs in whatever order, they live as the model says', async () => {
  await using mill = await lifeMill(await databaseOfFile())
  const counts: Counts = { sequences: 0, acts: 0, by: new Map() }
  await fc.assert(
    fc.asyncProperty(fc.array(draws, { minLength: 20, maxLength: 60 }), async (drawn) =>
      sequence(mill, drawn, counts),
    ),
    {
      numRuns: 200,
      ...(process.env['LIFE_SEED'] === undefined ? {} : { seed: Number(process.env['LIFE_SEED']) }),
    },
  )
  console.log(counts)
  expect(counts.sequences).toBeGreaterThanOrEqual(200)
}, 120_000)
