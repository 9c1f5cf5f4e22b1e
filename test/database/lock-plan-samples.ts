import { listLocks, pruneLocks, pruneLockWaiters } from '../../src/locks/lock-admin-statements.ts'
import {
  heldLocks,
  leaveLock,
  releaseLocks,
  renewLocks,
  takeLock,
} from '../../src/locks/lock-statements.ts'
import { SEEDED_AT } from '../support/seed.ts'
import { hot, rare } from './plan-sample.ts'
import type { PlanSample } from './plan-sample.ts'

const now = SEEDED_AT
const numbers = Array.from({ length: 200 }, (_, index) => index + 1)
const locks = JSON.stringify(
  numbers.map((each) => ({ name: `lock ${each}`, holder: `h${each}`, ttl_ms: 30_000 })),
)
const take = {
  name: 'lock 7',
  holder: 'h8',
  owner: 'host:1',
  ttl_ms: 30_000,
  lapsed_before: now,
  doubted_at: '-infinity',
  waiting: '{h8,h9}',
  now,
}

export const LOCK_SAMPLES: readonly PlanSample[] = [
  hot(renewLocks, { locks, now }, ['locks_pkey']),
  hot(heldLocks, { locks, now }, ['locks_pkey']),
  hot(takeLock, take, ['locks_pkey', 'lock_waiters_pkey']),
  hot(releaseLocks, { locks, announce: true, now }, ['locks_pkey']),
  hot(leaveLock, { name: 'lock 7', holders: '{h7,h8}' }, ['lock_waiters_pkey']),
  rare(listLocks, { after: '', most: 1_000, now }, ['locks_pkey', 'lock_waiters_pkey']),
  rare(pruneLocks, { most: 1_000, now }, ['locks_end']),
  rare(pruneLockWaiters, { most: 1_000, now }, ['lock_waiters_seen']),
]
