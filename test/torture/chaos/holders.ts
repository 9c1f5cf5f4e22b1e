import { setTimeout as pause } from 'node:timers/promises'
import { LockWaitError } from 'millrace'
import type { Lock, Mill } from 'millrace'
import type { FactLog } from '../history/log.ts'
import { between } from '../random.ts'
import type { Random } from '../random.ts'
import type { Complain } from './complaints.ts'
import { LOCKS } from './kinds.ts'

/** Takes each lock again and again, holds it past its renewals, and tells what it was told. */
export interface Holding {
  readonly mill: Mill
  readonly tell: FactLog
  readonly random: Random
  readonly signal: AbortSignal
  readonly complain: Complain
}

const TTL = 1_500
const WAIT = 10_000
const LONGEST = 2_500

export async function holdOn(holding: Holding): Promise<void> {
  await Promise.all(LOCKS.map((name) => holdOne(holding, name)))
}

async function holdOne(holding: Holding, name: string): Promise<void> {
  const { mill, signal, random, complain } = holding
  while (!signal.aborted) {
    try {
      await heldFor(await mill.lock(name, { ttl: TTL, wait: WAIT, signal }), holding)
    } catch (error) {
      if (!signal.aborted && !(error instanceof LockWaitError)) complain('lock', error)
    }
    await pause(between(random, 0, 500), undefined, { signal }).catch(() => undefined)
  }
}

async function heldFor(lock: Lock, { tell, random, signal }: Holding): Promise<void> {
  const own = { lock: lock.name, token: lock.token }
  const until = lock.expiresAt.getTime()
  tell({ what: 'took', ...own, from: until - TTL, until })
  lock.signal.addEventListener('abort', () => tell({ what: 'lost', ...own }), { once: true })
  const either = AbortSignal.any([signal, lock.signal])
  await pause(between(random, 0, LONGEST), undefined, { signal: either }).catch(() => undefined)
  tell({ what: 'extended', ...own, until: lock.expiresAt.getTime() })
  if (!lock.signal.aborted) tell({ what: 'let-go', ...own })
  await lock.release()
}
