import { expect, test } from 'vitest'
import { databaseOfFile } from '../support/mill.ts'
import { lifeMill } from './lifecycle-mill.ts'
import { holdAgainstModel } from './lifecycle-property.ts'

// As many as fit in a minute of a small machine, the same each time; `npm run torture -- lifecycle`
// goes on with others.
test('whatever is done to jobs, one after another or two at once, they live as the model says', async () => {
  await using mill = await lifeMill(await databaseOfFile())
  const counts = await holdAgainstModel(mill, { sequences: 200, longest: 40, seed: 1 })
  expect(counts.sequences).toBe(200)
}, 180_000)
