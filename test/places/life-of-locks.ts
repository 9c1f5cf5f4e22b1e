import assert from 'node:assert/strict'
import type { Mill } from 'millrace'
import type { Place } from './place.ts'

/** Taken, refused, renewed, waited for, released; and a word on a channel. */
export async function locksLive(mill: Mill, place: Place): Promise<void> {
  const lock = await mill.tryLock('one', { ttl: '3s' })
  assert.ok(lock !== null)
  assert.equal(await mill.tryLock('one', { ttl: '5s' }), null)
  const waiting = mill.lock('one', { ttl: '5s', wait: '20s' })
  // Longer than it would last without renewals.
  await new Promise((resolve) => setTimeout(resolve, 3_300))
  assert.ok(await lock.renew('5s'))
  const held = await mill.locks.list()
  assert.deepEqual(
    held.map(({ name, token }) => [name, token]),
    [['one', lock.token]],
  )
  assert.ok(await lock.release())
  const next = await waiting
  assert.ok(next.token > lock.token)
  assert.equal(await lock.renew(), false)
  await next.release()
  assert.equal(await mill.withLock('two', { ttl: '5s' }, () => 'done'), 'done')
  if (place.hears) await heard(mill)
}

async function heard(mill: Mill): Promise<void> {
  await using listener = mill.listen('news')
  await listener.ready()
  await mill.notify('news', 'Grüße')
  for await (const message of listener) {
    if (message.type === 'resync') continue
    assert.equal(message.payload, 'Grüße')
    break
  }
}
