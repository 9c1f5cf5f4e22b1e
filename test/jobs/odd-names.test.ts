import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { typed } from '../../src/core/schema.ts'
import { defineJob } from '../../src/jobs/kind.ts'
import { collect } from '../support/collect.ts'
import { setup } from '../support/mill.ts'
import type { Setup } from '../support/mill.ts'
import { until } from '../support/until.ts'

// Names travel in JSON, in array literals, in notifications and in keys of maps.
const NAMES = [
  'NULL',
  '{a,b}',
  'with "quotes" and \'more\'',
  'back\\slash',
  ' leading and trailing ',
  'two\nlines\tand a tab',
  'comma, semicolon; -- dashes',
  '$now $1 :name %s',
  'é世界👋',
  'x'.repeat(200),
  '€'.repeat(66),
  'due 123 default',
  '__proto__',
]

describe('§12: a kind and a queue of the name', () => {
  let t: Setup
  const seen: string[] = []
  const kinds = NAMES.map((name) => defineJob(name, { input: typed<{ n: number }>(), queue: name }))
  beforeAll(async () => {
    t = await setup()
    const worker = t.mill.worker({ concurrency: 50 })
    for (const kind of kinds) {
      worker.handle(kind, (_input, run) => {
        seen.push(`${run.kind} in ${run.queue}`)
      })
    }
    await worker.start()
  })
  afterAll(() => t.close())

  test.each(kinds.map((kind) => [kind.name, kind] as const))(
    '%j run and are found',
    async (name, kind) => {
      const { id } = await t.mill.enqueue(kind, { n: 1 })
      await until(async () => (await t.mill.jobs.get(id))?.state === 'completed')
      expect(seen).toContain(`${name} in ${name}`)
      const [job, ...others] = await collect(t.mill.jobs.list({ kind, queue: [name, 'another'] }))
      expect(job).toMatchObject({ id, kind: name, queue: name })
      expect(others).toEqual([])
      expect(await collect(t.mill.jobs.list({ kind: [name], queue: 'another' }))).toEqual([])
    },
  )
})
