import { expectTypeOf, test } from 'vitest'
import { defineJob, typed } from '../../src/index.ts'
import type { Changed, FinishedJob, Mill } from '../../src/index.ts'

declare const mill: Mill

const add = defineJob('add', { input: typed<readonly number[]>(), result: typed<number>() })

test('a wait for a kind knows its result; without one it may be anything', async () => {
  const job = await mill.jobs.wait(add, 'id', { timeout: '30s' })
  if (job.state === 'completed') expectTypeOf(job.result).toEqualTypeOf<number>()
  expectTypeOf(await mill.jobs.wait('id')).toEqualTypeOf<FinishedJob>()
  // @ts-expect-error pending is no end
  if (job.state === 'pending') throw new Error('never')
  // @ts-expect-error the kind alone says nothing of which job
  await mill.jobs.wait(add)
})

test('changes take one id, several, or a filter', () => {
  expectTypeOf(mill.jobs.cancel('id')).resolves.toEqualTypeOf<Changed>()
  expectTypeOf(mill.jobs.retry(['a', 'b'], { by: 'ada' })).resolves.toEqualTypeOf<Changed>()
  expectTypeOf(
    mill.jobs.reschedule({ kind: add, state: 'pending' }, { delay: '5m', priority: 'high' }),
  ).resolves.toEqualTypeOf<Changed>()
  // @ts-expect-error there is no such state
  void mill.jobs.cancel({ state: 'failed' })
  // @ts-expect-error nor such an option
  void mill.jobs.cancel('id', { reason: 'x' })
  // @ts-expect-error a priority has a word or one digit
  void mill.jobs.reschedule('id', { priority: 10 })
})

test('a cleanup needs a bound, and knows the three ends', () => {
  expectTypeOf(
    mill.jobs.cleanup({ finishedBefore: '30d', kind: add, state: 'dead' }, { dryRun: true }),
  ).resolves.toEqualTypeOf<Changed>()
  // @ts-expect-error without a bound everything would go
  void mill.jobs.cleanup({ state: 'dead' })
  // @ts-expect-error a running job is no record of an end
  void mill.jobs.cleanup({ finishedBefore: '30d', state: 'running' })
})
