import type { PGlite } from '@electric-sql/pglite'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { defineJob, open, typed } from '../../src/index.ts'
import type { Mill } from '../../src/index.ts'
import { startPglite } from '../support/pglite.ts'
import { until } from '../support/until.ts'
import { boundariesOf } from './fired.ts'

let instance: PGlite
let mill: Mill

beforeAll(async () => {
  instance = await startPglite()
  mill = await open(instance, { migrate: 'auto', logger: false })
}, 120_000)

afterAll(async () => {
  await mill.close()
  await instance.close()
}, 120_000)

test('S2: on an embedded database schedules fire too, plain and with a key', async () => {
  const runs: string[] = []
  const plain = defineJob('plain', { input: typed<string>() })
  const keyed = defineJob('keyed', { input: typed<string>(), dedup: 'k' })
  await mill
    .worker()
    .handle(plain, (name) => void runs.push(name))
    .handle(keyed, (name) => void runs.push(name))
    .start()
  await mill.schedule('a', { every: '200ms', kind: plain, input: 'plain' })
  await mill.schedule('b', { every: '200ms', kind: keyed, input: 'keyed' })
  await until(() => runs.filter((name) => name === 'plain').length >= 2)
  await until(() => runs.filter((name) => name === 'keyed').length >= 2)
  await mill.schedules.pause('a')
  const { id } = await mill.schedules.runNow('a')
  expect(await mill.jobs.wait(id)).toMatchObject({ state: 'completed' })
  expect(await mill.schedules.prune([])).toEqual(['a', 'b'])
  const fired = await boundariesOf(mill, 'a')
  expect(new Set(fired).size).toBe(fired.length)
}, 120_000)
