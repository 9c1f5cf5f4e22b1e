import { expectTypeOf, test } from 'vitest'
import type {
  ChannelMessage,
  Listener,
  Lock,
  Mill,
  Producer,
  Transaction,
} from '../../src/index.ts'

declare const mill: Mill
declare const producer: Producer
declare const transaction: Transaction

test('a lock is there or null, and waits give one', async () => {
  expectTypeOf(await mill.tryLock('x', { ttl: '30s' })).toEqualTypeOf<Lock | null>()
  expectTypeOf(await mill.lock('x', { ttl: 30_000, wait: '1m' })).toEqualTypeOf<Lock>()
  expectTypeOf(
    await mill.withLock('x', { ttl: '1s' }, ({ token }) => token),
  ).toEqualTypeOf<number>()
  expectTypeOf(await mill.withLock('x', { ttl: '1s' }, async () => 'a')).toEqualTypeOf<string>()
  // @ts-expect-error a lock has no default ttl
  await mill.tryLock('x')
  // @ts-expect-error a lock has no default ttl
  await mill.lock('x', { wait: '1m' })
  // @ts-expect-error tryLock does not wait
  await mill.tryLock('x', { ttl: '1s', wait: '1s' })
  // @ts-expect-error a duration has a unit
  await mill.tryLock('x', { ttl: '30' })
  // @ts-expect-error nothing that locks is offered in a transaction
  void producer.tryLock
})

test('what is taken can be disposed of', async () => {
  await using lock = await mill.tryLock('x', { ttl: '1s' })
  if (lock === null) return
  expectTypeOf(lock.token).toEqualTypeOf<number>()
  expectTypeOf(await lock.release()).toEqualTypeOf<boolean>()
  // @ts-expect-error what it has is not to be written
  lock.token = 1
})

test('a channel carries text, in transactions too', async () => {
  await producer.notify('a')
  await transaction.notify('a', 'text')
  // @ts-expect-error text only
  await producer.notify('a', { id: 7 })
  await using listener = mill.listen('a', { signal: AbortSignal.timeout(1) })
  expectTypeOf(listener).toEqualTypeOf<Listener>()
  for await (const message of listener) {
    expectTypeOf(message).toEqualTypeOf<ChannelMessage>()
    if (message.type === 'message') expectTypeOf(message.payload).toEqualTypeOf<string>()
    // @ts-expect-error a resync has none
    else message.payload.trim()
  }
})
