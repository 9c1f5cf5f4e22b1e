import { matchingJobs, placesOfJobs } from '../../src/jobs/bulk-statements.ts'
import { cancelJobs, forceCancelJobs } from '../../src/jobs/cancel-statements.ts'
import { cleanUpFinished, countFinished } from '../../src/jobs/cleanup-statements.ts'
import { redriveJobs } from '../../src/jobs/redrive-statements.ts'
import { rescheduleJobs } from '../../src/jobs/reschedule-statements.ts'
import { endedJobs } from '../../src/jobs/wait-statements.ts'
import { cancelledRuns } from '../../src/worker/cancel-statements.ts'
import { lookAtKey, mergeIntoKey } from '../../src/jobs/dedup-statements.ts'
import {
  enqueuedJobs,
  enqueueAlikeJobs,
  enqueueJobs,
  enqueueMissingJobs,
  enqueueStartingJobs,
} from '../../src/jobs/enqueue-statements.ts'
import { getJob, listJobsNewest, listJobsOldest } from '../../src/jobs/inspect-statements.ts'
import { pruneThrottles, throttleAsk } from '../../src/jobs/key-statements.ts'
import { placeIndependent, placeKeyed } from '../../src/jobs/place-statements.ts'
import { releaseReruns, releaseRerunsOf } from '../../src/jobs/rerun-statements.ts'
import {
  expiredJobs,
  expireJobs,
  pruneJobs,
  trimJournal,
} from '../../src/jobs/retention-statements.ts'
import { jobJournalNewest, jobJournalOldest } from '../../src/journal/statements.ts'
import {
  claimHandles,
  claimJobs,
  claimJobsWithinCaps,
  lookBeforeMarks,
  nextDue,
  waitingLevels,
} from '../../src/worker/claim-statements.ts'
import { extendLease, lockLivingLease } from '../../src/worker/handle-statements.ts'
import { heldLeases, lapsedLeases, renewLeases } from '../../src/worker/lease-statements.ts'
import {
  recoverRuns,
  settledRuns,
  settleRun,
  settleRuns,
} from '../../src/worker/settle-statements.ts'
import { completeAlikeRuns, completeRuns } from '../../src/worker/complete-statements.ts'
import { beginFire, fireSchedules, markFire } from '../../src/schedules/fire-statements.ts'
import { soonestSchedules } from '../../src/schedules/statements.ts'
import { LOCK_SAMPLES } from './lock-plan-samples.ts'
import { hot, rare } from './plan-sample.ts'
import type { PlanSample } from './plan-sample.ts'
import { SEEDED_AT, seededId } from '../support/seed.ts'

const now = SEEDED_AT
const LEVELS = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]
const probes = JSON.stringify(
  LEVELS.map((level) => ({
    turn: 0,
    queue: 'default',
    level,
    lane: 0,
    kinds: ['greet'],
    mark_due: '-infinity',
    mark_id: '',
    most: 500,
    lane_most: 500,
    queue_most: 500,
  })),
)
// Four levels that take turns, as a claim of forty slots asks for them.
const sharedProbes = JSON.stringify(
  [30, 7, 2, 1].map((most, level) => ({
    turn: 0,
    queue: 'default',
    level,
    lane: 0,
    kinds: ['greet'],
    mark_due: '-infinity',
    mark_id: '',
    most,
    lane_most: 40,
    queue_most: 40,
    places: Array.from({ length: most }, (_, index) => index + 1),
  })),
)
const numbers = Array.from({ length: 200 }, (_, index) => index + 1)
const runs = JSON.stringify(numbers.map((each) => ({ id: seededId('H', each), run: 1 })))
const fates = JSON.stringify(
  numbers.map((each) => ({
    id: seededId('H', each),
    run: 1,
    worker: 'worker 1',
    outcome: 'completed',
  })),
)
const asks = JSON.stringify(
  numbers.map((each) => ({
    id: `02${String(each).padStart(24, '0')}`,
    kind: 'greet',
    queue: 'default',
    payload: '{"n":1}',
    priority: 5,
    lease_ms: 60_000,
  })),
)
const alike = {
  asks,
  kind: 'greet',
  queue: 'default',
  priority: 5,
  options: null,
  lease_ms: 60_000,
  delay_ms: null,
  due_at: null,
  expires_after_ms: null,
  expires_at: null,
}
const ids = (place: 'R' | 'H' | 'F'): string =>
  `{${numbers.map((each) => seededId(place, each)).join(',')}}`
const expired = JSON.stringify(numbers.map((each) => ({ id: seededId('R', each), keep_ms: 1_000 })))

const worker = 'worker 1'
const runOf = { id: seededId('H', 1), run: 1 }
const claim = { probes, most: 500, worker, now }
const settle = { follow_ups: '[]', fates, worker, hint_until: now, now }
const list = {
  states: '{pending,running,completed,dead,cancelled}',
  kinds: null,
  queues: null,
  created_after: null,
  created_before: null,
  finished_after: null,
  finished_before: null,
  dedup_key: null,
  schedule: null,
  text: null,
  after: '',
  before: '8',
  bound: 101,
  most: 101,
  now,
}
const keyed = (count: number): string =>
  JSON.stringify(
    numbers.slice(0, count).map((each) => ({
      id: `02${String(each).padStart(24, '0')}`,
      dedup_key: `key ${each}`,
      kind: 'greet',
      queue: 'default',
      payload: '{"n":1}',
      priority: 5,
      lease_ms: 60_000,
    })),
  )
const keyedAsks = keyed(200)
const oneAsk = keyed(1)
const key = { kind: 'greet', dedup_key: 'key 1' }
const asked = { asked_at: now, hint_until: now, now }
const row = { job_id: seededId('R', 1), row_place: '(0,1)', row_version: '1' }
const merge = { ...row, payload: '{}', carry: '{}', debounce_ms: 1, at_most_ms: 1, ...asked }
const LOOK = ['jobs_pkey', 'journal_asked', 'leases_key', 'ready_key', 'carries_pkey']
const CLAIM = ['ready_claim', 'leases_pkey', 'jobs_pkey', 'carries_pkey']
const PLACES = ['ready_pkey', 'leases_pkey', 'finished_pkey', 'jobs_pkey']
const RECORD = [...PLACES, 'carries_pkey']
const CANCEL = ['ready_pkey', 'leases_pkey', 'jobs_pkey']
const JOURNAL = ['journal_job', 'finished_pkey']
const entries = { job_id: seededId('F', 1), after: '-1', before: null, most: 101 }
const mayRead = ['journal_pkey']
const cancelled = { states: '{pending,running}', by: null, why: null, hint_until: now, now }
const moved = { due_at: now, delay_ms: null, priority: 1, by: null, hint_until: now, now }
const fires = JSON.stringify(
  numbers.slice(0, 100).map((each) => ({
    schedule: `schedule ${each}`,
    revision: 1,
    expected: now,
    next: now,
    is_manual: false,
    asks: [{ id: `02${String(each).padStart(24, '0')}`, boundary: now }],
  })),
)
const FIRE = ['schedules_pkey', 'ready_pkey', 'leases_pkey', 'jobs_fires', 'journal_fires']
const mark = { schedule: 'schedule 1', boundary: now, asked: seededId('R', 1), job_id: '' }
const cleanup = {
  states: '{completed}',
  before: now,
  kind: null,
  after: '',
  bound: 1_000,
}

export const SAMPLES: readonly PlanSample[] = [
  hot(claimJobs, claim, CLAIM),
  hot(claimJobsWithinCaps, claim, CLAIM),
  hot(claimJobsWithinCaps, { ...claim, probes: sharedProbes }, CLAIM),
  hot(claimHandles, { ...claim, lease_ms: null }, CLAIM),
  hot(waitingLevels, { probes, now }, ['ready_claim']),
  hot(extendLease, { ...runOf, worker, extend_ms: 60_000, now }, ['leases_pkey']),
  hot(nextDue, { probes, now }, ['ready_claim']),
  hot(lookBeforeMarks, { probes, now }, ['ready_claim']),
  hot(completeRuns, settle, ['leases_pkey']),
  hot(completeAlikeRuns, { ids: ids('H'), run: 1, keep_ms: 1_000, worker, now }, ['leases_pkey']),
  hot(settleRuns, settle, ['leases_pkey']),
  hot(settleRun, settle, ['leases_pkey']),
  rare(recoverRuns, { ...settle, recovered_by: worker, lapsed_before: now }, [
    'leases_pkey',
    'finished_pkey',
  ]),
  hot(renewLeases, { runs, worker, now }, ['leases_pkey']),
  hot(heldLeases, { runs, worker }, ['leases_pkey']),
  hot(lapsedLeases, { mark: '-infinity', until: now, most: 500 }, ['leases_end', 'jobs_pkey']),
  hot(enqueueJobs, { asks, hint_until: now, now }, []),
  hot(enqueueAlikeJobs, { ...alike, hint_until: now, now }, []),
  hot(enqueueStartingJobs, { asks, hint_until: now, now }, []),
  hot(enqueueMissingJobs, { asks, hint_until: now, now }, []),
  rare(placeKeyed, { asks: keyedAsks, ...asked }, [
    'ready_key',
    'ready_pkey',
    'jobs_pkey',
    'journal_asked',
  ]),
  rare(placeIndependent, { asks: keyedAsks, ...asked }, []),
  rare(lookAtKey, { id: seededId('R', 1), ...key, now }, LOOK),
  {
    // The row itself is found by its place.
    ...rare(mergeIntoKey, { ask: oneAsk, decision: 'merge', ...merge }, [
      'jobs_pkey',
      'journal_asked',
    ]),
    mayRead: ['ready_pkey', 'carries_pkey'],
  },
  rare(throttleAsk, { asks: oneAsk, window_ms: 1, ...asked }, ['jobs_pkey', 'throttles_pkey']),
  rare(pruneThrottles, { most: 1_000, now }, ['throttles_until']),
  rare(releaseReruns, { hint_until: now, now }, ['ready_rerun', 'leases_key']),
  rare(releaseRerunsOf, { keys: JSON.stringify([key]), hint_until: now, now }, [
    'ready_rerun',
    'leases_key',
  ]),
  hot(enqueuedJobs, { ids: ids('R'), asked_at: now }, ['jobs_pkey']),
  hot(pruneJobs, { most: 1_000, now }, [
    'finished_prune',
    'journal_job',
    'jobs_pkey',
    'carries_pkey',
  ]),
  hot(expiredJobs, { most: 1_000, now }, ['ready_expiry', 'jobs_pkey']),
  hot(expireJobs, { jobs: expired, now }, ['ready_pkey']),
  rare(lockLivingLease, { ...runOf, worker, now }, ['leases_pkey']),
  rare(settledRuns, { runs, worker }, ['finished_pkey', 'journal_job']),
  rare(placesOfJobs, { ids: ids('F') }, ['ready_pkey', 'leases_pkey', 'finished_pkey']),
  rare(redriveJobs, { ids: ids('F'), states: '{dead,cancelled}', by: null, hint_until: now, now }, [
    'finished_pkey',
    'jobs_pkey',
    'outbox_line_pkey',
  ]),
  rare(soonestSchedules, { kinds: '{greet}', most: 100 }, ['schedules_due']),
  rare(fireSchedules, { fires, hint_until: now, now }, FIRE),
  rare(beginFire, { fires }, FIRE),
  rare(markFire, mark, ['jobs_pkey', 'journal_asked', 'schedules_pkey']),
  hot(cancelledRuns, { worker }, ['leases_cancel']),
  rare(matchingJobs, list, PLACES),
  rare(cancelJobs, { ...cancelled, ids: ids('R') }, CANCEL),
  rare(forceCancelJobs, { ...cancelled, ids: ids('H') }, CANCEL),
  rare(rescheduleJobs, { ...moved, ids: ids('R'), states: '{pending}' }, [
    'ready_pkey',
    'jobs_pkey',
    'outbox_line_pkey',
  ]),
  rare(cleanUpFinished, cleanup, ['finished_pkey', 'journal_job', 'jobs_pkey', 'carries_pkey']),
  rare(countFinished, cleanup, ['finished_pkey']),
  rare(endedJobs, { ids: ids('H') }, ['ready_pkey', 'leases_pkey']),
  rare(trimJournal, { after: '0', keep: 1_000, most: 1_000 }, ['journal_pkey', 'journal_job']),
  rare(getJob, { id: seededId('F', 1), now }, RECORD),
  rare(listJobsOldest, list, RECORD),
  rare(listJobsNewest, list, RECORD),
  { ...rare(jobJournalOldest, entries, JOURNAL), mayRead },
  { ...rare(jobJournalNewest, entries, JOURNAL), mayRead },
  ...LOCK_SAMPLES,
]
