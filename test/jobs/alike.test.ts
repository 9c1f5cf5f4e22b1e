import { expect, test } from 'vitest'
import { defineJob, typed } from '../../src/index.ts'
import type { EnqueueOptions } from '../../src/index.ts'
import { manualSetup, NOON } from '../support/mill.ts'
import { watchStatements } from '../support/statements.ts'

const greet = defineJob('greet', { input: typed<number>() })

const EVERY_WAY: readonly (readonly [string, EnqueueOptions])[] = [
  ['nothing', {}],
  ['a delay', { delay: '1m' }],
  ['a delay within the hint horizon', { delay: 10 }],
  ['an instant that is past', { at: new Date(NOON - 60_000) }],
  ['an instant to come', { at: new Date(NOON + 60_000.25) }],
  ['an expiry after the ask', { expires: '5s' }],
  ['an instant of expiry', { expires: new Date(NOON + 5_000) }],
  ['a delay and an expiry', { delay: '1s', expires: '5s' }],
  ['what a policy holds', { retry: { failures: 3 }, timeout: '1s' }],
  ['a queue and a level', { queue: 'a "queue"', priority: 9, lease: '10s' }],
]

test.each(EVERY_WAY)(
  'E1: asks that differ in their payload only are written as others are: %s',
  async (_name, options) => {
    await using t = await manualSetup()
    using statements = watchStatements(t.schema)
    await t.mill.enqueueMany(greet, [1, 2], options)
    expect(statements.count('enqueue_alike_jobs')).toBe(1)
    const otherwise = { ...options, queue: 'other' }
    await t.mill.enqueueMany(greet, [1, 2, 3], (n) => (n === 3 ? otherwise : options))
    expect(statements.count('enqueue_jobs')).toBe(1)

    const { rows } = await t.sql.query<{ written: string; times: number }>(`
      select (to_jsonb(j) - 'id')::text || (to_jsonb(r) - 'job_id')::text as written, count(*)::int as times
      from jobs j
      join ready r on r.job_id = j.id
      where r.queue <> 'other'
      group by 1`)
    expect(rows.map(({ times }) => times)).toEqual([2, 2])
  },
)
