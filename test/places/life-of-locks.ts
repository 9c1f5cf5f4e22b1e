import assert from 'node:assert/strict'
import type { Lock, Mill } from 'millrace'
import type { Place } from './place.ts'

/** Taken, refused, renewed, waited for, released; and a word on a channel. */
export async function locksLive(mill: Mill, place: Place): Promise<void> {
  const lock = await outlived(mill, 3)
  const { name } = lock
  assert.equal(await mill.tryLock(name, { ttl: '5s' }), null)
  const waiting = mill.lock(name, { ttl: '5s', wait: '20s' })
  const held = (await mill.locks.list()).filter((each) => each.name === name)
  assert.deepEqual(
    held.map(({ token }) => token),
    [lock.token],
  )
  assert.ok(await lock.release())
  const next = await waiting
  assert.ok(next.token > lock.token)
  assert.equal(await lock.renew(), false)
  await next.release()
  assert.equal(await mill.withLock('two', { ttl: '5s' }, () => 'done'), 'done')
  if (place.hears) await heard(mill)
}

/** Held for longer than it would last without renewals. A machine that stands still loses it, and tries again. */
async function outlived(mill: Mill, tries: number): Promise<Lock> {
  const lock = await mill.tryLock(`one ${tries}`, { ttl: '3s' })
  assert.ok(lock !== null)
  await new Promise((resolve) => setTimeout(resolve, 3_300))
  if (await lock.renew('10s')) return lock
  assert.ok(tries > 1, 'a lock was lost each time')
  return outlived(mill, tries - 1)
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
