// oxlint-disable vitest/expect-expect -- the compiler asserts: it refuses a @ts-expect-error over a line that compiles
import { expectTypeOf, test } from 'vitest'
import { z } from 'zod'
import { defineJob, typed } from '../../src/index.ts'
import type { Handle, JobHandle, Mill, QueueDefaults, WorkerOptions } from '../../src/index.ts'

declare const mill: Mill

const charge = defineJob('charge', {
  input: z.object({ cents: z.string().transform(Number) }),
  result: typed<{ receipt: string }>(),
  carry: { tries: 0 },
})
const ping = defineJob('ping')

test('a handle has the input, carry and result of its kind', async () => {
  const [handle] = await mill.claim({ kinds: [charge], limit: 5, lease: '5m', strict: true })
  if (handle === undefined) return
  expectTypeOf(handle.input).toEqualTypeOf<{ cents: number }>()
  expectTypeOf(handle.carry).toEqualTypeOf<{ tries: number }>()
  expectTypeOf(await handle.complete({ receipt: 'r' })).toEqualTypeOf<boolean>()
  // @ts-expect-error the kind declares a result
  await handle.complete()
  // @ts-expect-error of another type
  await handle.complete({ receipt: 1 })
  // @ts-expect-error for how long, or until when
  await handle.pause({})
  // @ts-expect-error one of the two
  await handle.pause({ for: '1s', until: new Date(0) })
  // @ts-expect-error a lease moves by heartbeat only
  handle.leaseEndsAt = new Date(0)
})

test('the kind of a handle narrows it', async () => {
  for (const handle of await mill.claim({ kinds: [charge, ping] })) {
    expectTypeOf(handle.kind).toEqualTypeOf<'charge' | 'ping'>()
    if (handle.kind === 'charge') expectTypeOf(handle.input).toEqualTypeOf<{ cents: number }>()
    else expectTypeOf(handle.input).toEqualTypeOf<undefined>()
  }
  expectTypeOf<JobHandle<typeof ping>>().toEqualTypeOf<Handle<typeof ping>>()
})

test('what is no option is refused', () => {
  // @ts-expect-error kinds are needed
  void mill.claim({})
  // @ts-expect-error a name is not a kind
  void mill.claim({ kinds: ['ping'] })
  // @ts-expect-error no such option
  void mill.claim({ kinds: [ping], limits: 5 })
})

test('fairness and failures of a worker', () => {
  expectTypeOf<{ fairness: 'strict'; failures: number }>().toExtend<WorkerOptions>()
  expectTypeOf<{ fairness: { rotate: number } }>().toExtend<WorkerOptions>()
  // @ts-expect-error no such fairness
  mill.worker({ fairness: 'fair' })
  // @ts-expect-error a ratio is needed
  mill.worker({ fairness: {} })
})

test('defaults of a queue are the options of an ask but the queue itself', () => {
  expectTypeOf<{ priority: 'low'; retry: { failures: 3 } }>().toExtend<QueueDefaults>()
  // @ts-expect-error a queue has no queue
  void mill.queues.set('mail', { queue: 'other' })
  // @ts-expect-error an input has no place here
  void mill.queues.set('mail', { input: typed<string>() })
})
