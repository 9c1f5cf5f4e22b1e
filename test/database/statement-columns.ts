import { sampleClock } from '../../src/database/clock-sample.ts'
import { describedStatement } from '../../src/database/describe.ts'
import * as migrations from '../../src/database/migration-statements.ts'
import * as savepoints from '../../src/database/savepoint.ts'
import type { Statement } from '../../src/database/statement.ts'
import { matchingJobs, placesOfJobs } from '../../src/jobs/bulk-statements.ts'
import { cancelJobs, forceCancelJobs } from '../../src/jobs/cancel-statements.ts'
import { cleanUpFinished, countFinished } from '../../src/jobs/cleanup-statements.ts'
import { explainJob } from '../../src/jobs/explain-statements.ts'
import { jobStats } from '../../src/jobs/stats-statements.ts'
import { redriveJobs } from '../../src/jobs/redrive-statements.ts'
import { rescheduleJobs } from '../../src/jobs/reschedule-statements.ts'
import { notifyChannel } from '../../src/channels/channel-statements.ts'
import * as lockAdmin from '../../src/locks/lock-admin-statements.ts'
import * as locks from '../../src/locks/lock-statements.ts'
import * as waiting from '../../src/jobs/wait-statements.ts'
import { cancelledRuns } from '../../src/worker/cancel-statements.ts'
import {
  enqueuedJobs,
  enqueueAlikeJobs,
  enqueueJobs,
  enqueueMissingJobs,
  enqueueStartingJobs,
} from '../../src/jobs/enqueue-statements.ts'
import { getJob, listJobsNewest, listJobsOldest } from '../../src/jobs/inspect-statements.ts'
import {
  expiredJobs,
  expireJobs,
  pruneJobs,
  trimJournal,
} from '../../src/jobs/retention-statements.ts'
import { jobJournalNewest, jobJournalOldest } from '../../src/journal/statements.ts'
import * as dedup from '../../src/jobs/dedup-statements.ts'
import * as keys from '../../src/jobs/key-statements.ts'
import * as places from '../../src/jobs/place-statements.ts'
import * as reruns from '../../src/jobs/rerun-statements.ts'
import { limitLockWait } from '../../src/database/lock-wait.ts'
import * as firing from '../../src/schedules/fire-statements.ts'
import * as scheduling from '../../src/schedules/statements.ts'
import * as streamAdmin from '../../src/streams/admin-statements.ts'
import * as consumers from '../../src/streams/consumer-statements.ts'
import * as positions from '../../src/streams/position-statements.ts'
import { publishEvents } from '../../src/streams/publish-statements.ts'
import * as reading from '../../src/streams/read-statements.ts'
import * as sequencing from '../../src/streams/sequence-statements.ts'
import * as outboxAdmin from '../../src/outbox/outbox-admin-statements.ts'
import { sendMessages } from '../../src/outbox/send-statements.ts'
import * as turning from '../../src/outbox/turn-statements.ts'
import * as queueing from '../../src/queues/statements.ts'
import * as claiming from '../../src/worker/claim-statements.ts'
import * as handles from '../../src/worker/handle-statements.ts'
import * as present from '../../src/worker/presence-statements.ts'
import * as leases from '../../src/worker/lease-statements.ts'
import { notifyEvents } from '../../src/worker/event-sender.ts'
import * as rolling from '../../src/worker/rollup-statements.ts'
import { completeAlikeRuns, completeRuns } from '../../src/worker/complete-statements.ts'
import * as settling from '../../src/worker/settle-statements.ts'
import {
  CONSUMER,
  EVENT,
  LISTED_CONSUMER,
  SEQUENCED,
  STREAM,
  SETTLED,
  CANCELLED,
  CLEANED,
  MOVED,
  JOB,
  ENTRY,
  HIDDEN,
  KEY_LOOK,
  EXPLAINED,
  BEGUN,
  SCHEDULE,
  STATS,
  CATALOGUE,
  HISTORY,
} from './column-shapes.ts'

type Columns<Result> = [Result] extends [never]
  ? Readonly<Record<string, never>>
  : { readonly [Column in keyof Result]-?: TypeOf<Result[Column]> }

type TypeOf<Value> =
  Exclude<Value, null> extends string
    ? 'text'
    : Exclude<Value, null> extends number
      ? 'int4' | 'float8'
      : 'bool'

type Described = readonly [name: string, columns: Readonly<Record<string, string>>]

function columnsOf<Result>(
  statement: { readonly name: string } & Pick<Statement<never, Result>, '~types'>,
  columns: Columns<Result>,
): Described {
  return [statement.name, columns]
}

const HELD = { ...MOVED, lease_ends_at: 'float8' } as const
const LAPSED = {
  ...HELD,
  worker: 'text',
  kind: 'text',
  failures: 'int4',
  started_at: 'float8',
  options: 'text',
} as const
const CLAIMED = {
  ...HELD,
  kind: 'text',
  queue: 'text',
  priority: 'int4',
  failures: 'int4',
  due_at: 'float8',
  lease_ms: 'float8',
  payload: 'text',
  options: 'text',
  carry: 'text',
} as const
const TURNS = { given: 'int4', cleared: 'int4', is_more: 'bool', is_busy: 'bool' } as const
const ENDED_HEADS = {
  keys: 'text',
  looked_at: 'int4',
  last_kind: 'text',
  last_key: 'text',
} as const
const HALTED = {
  outbox: 'text',
  key: 'text',
  id: 'text',
  dead_since: 'float8',
  waiting: 'int4',
} as const
const HELD_LOCK = { name: 'text', holder: 'text', expires_at: 'float8' } as const
const LISTED = { ...JOB, looked_at: 'int4', looked_until: 'text' } as const

/**
 * The columns of every statement, by its name. The compiler holds this table to the row types of
 * `src`, and the test beside it to the database, so that the two agree: rows are not checked when
 * they come in.
 */
export const COLUMNS: Readonly<Record<string, Readonly<Record<string, string>>>> =
  Object.fromEntries([
    columnsOf(sampleClock, { database_time: 'float8' }),
    columnsOf(describedStatement, { types: 'text' }),
    columnsOf(rolling.appendRollups, { appended: 'int4' }),
    columnsOf(rolling.pruneRollups, { pruned: 'int4' }),
    columnsOf(notifyEvents, { sent: 'int4' }),
    columnsOf(explainJob, EXPLAINED),
    columnsOf(jobStats, STATS),
    columnsOf(migrations.lockMigrations, { locked: 'text' }),
    columnsOf(migrations.limitMigration, { limits: 'text' }),
    columnsOf(migrations.liveCatalogue, CATALOGUE),
    columnsOf(migrations.migrationHistory, HISTORY),
    columnsOf(migrations.recordMigration, {}),
    columnsOf(savepoints.setSavepoint, {}),
    columnsOf(savepoints.rollBackToSavepoint, {}),
    columnsOf(savepoints.releaseSavepoint, {}),
    columnsOf(enqueueJobs, { hinted: 'int4' }),
    columnsOf(enqueueAlikeJobs, { hinted: 'int4' }),
    columnsOf(enqueueStartingJobs, { hinted: 'int4' }),
    columnsOf(enqueueMissingJobs, { id: 'text' }),
    columnsOf(enqueuedJobs, { id: 'text' }),
    columnsOf(places.placeKeyed, { id: 'text' }),
    columnsOf(places.placeIndependent, { id: 'text' }),
    columnsOf(dedup.lookAtKey, KEY_LOOK),
    columnsOf(dedup.mergeIntoKey, { job_id: 'text' }),
    columnsOf(dedup.mergedAsks, { id: 'text' }),
    columnsOf(keys.lockKey, { locked: 'int4' }),
    columnsOf(keys.throttleAsk, { job_id: 'text', is_new: 'bool', created_at: 'float8' }),
    columnsOf(keys.pruneThrottles, { pruned: 'int4' }),
    columnsOf(reruns.announceRerun, { sent: 'int4' }),
    columnsOf(reruns.releaseReruns, { released: 'int4', waiting: 'bool' }),
    columnsOf(reruns.releaseRerunsOf, { released: 'int4', waiting: 'bool' }),
    columnsOf(sendMessages, { id: 'text' }),
    columnsOf(turning.takeTurns, TURNS),
    columnsOf(turning.endedHeads, ENDED_HEADS),
    columnsOf(turning.forgetMessages, { looked_at: 'int4', last: 'text' }),
    columnsOf(outboxAdmin.haltedKeys, HALTED),
    columnsOf(outboxAdmin.skipHalted, { id: 'text' }),
    columnsOf(getJob, JOB),
    columnsOf(listJobsOldest, LISTED),
    columnsOf(listJobsNewest, LISTED),
    columnsOf(placesOfJobs, { id: 'text', state: 'text' }),
    columnsOf(matchingJobs, { id: 'text', looked_at: 'int4', looked_until: 'text' }),
    columnsOf(cancelJobs, CANCELLED),
    columnsOf(forceCancelJobs, CANCELLED),
    columnsOf(redriveJobs, { job_id: 'text' }),
    columnsOf(rescheduleJobs, { job_id: 'text' }),
    columnsOf(cleanUpFinished, CLEANED),
    columnsOf(countFinished, CLEANED),
    columnsOf(waiting.endedJobs, { id: 'text' }),
    columnsOf(waiting.announceWaits, { sent: 'int4' }),
    columnsOf(waiting.announceEnds, { sent: 'int4' }),
    columnsOf(cancelledRuns, { ...MOVED, by: 'text' }),
    columnsOf(trimJournal, { trimmed: 'int4', top: 'text' }),
    columnsOf(pruneJobs, { pruned: 'int4' }),
    columnsOf(expiredJobs, { job_id: 'text', options: 'text' }),
    columnsOf(expireJobs, { job_id: 'text', kind: 'text', queue: 'text', run: 'int4' }),
    columnsOf(jobJournalOldest, ENTRY),
    columnsOf(jobJournalNewest, ENTRY),
    columnsOf(claiming.claimJobs, CLAIMED),
    columnsOf(claiming.claimJobsWithinCaps, CLAIMED),
    columnsOf(claiming.claimHandles, CLAIMED),
    columnsOf(claiming.waitingLevels, { queue: 'text', level: 'int4', lane: 'int4' }),
    columnsOf(handles.extendLease, { lease_ends_at: 'float8' }),
    columnsOf(handles.lockLivingLease, { locked: 'int4' }),
    columnsOf(present.tellWorker, { worker: 'text' }),
    columnsOf(present.forgetWorker, { worker: 'text' }),
    columnsOf(queueing.readQueues, { queue: 'text', paused_at: 'float8', defaults: 'text' }),
    columnsOf(queueing.listQueues, { queue: 'text', paused_at: 'float8' }),
    columnsOf(queueing.pauseQueue, { queue: 'text' }),
    columnsOf(queueing.resumeQueue, { queue: 'text' }),
    columnsOf(queueing.setQueueDefaults, { queue: 'text' }),
    columnsOf(scheduling.listSchedules, SCHEDULE),
    columnsOf(scheduling.getSchedule, SCHEDULE),
    columnsOf(scheduling.soonestSchedules, SCHEDULE),
    columnsOf(scheduling.registerSchedule, { schedule: 'text' }),
    columnsOf(scheduling.pauseSchedule, { schedule: 'text' }),
    columnsOf(scheduling.resumeSchedule, { schedule: 'text' }),
    columnsOf(scheduling.removeSchedule, { schedule: 'text' }),
    columnsOf(scheduling.undeclaredSchedules, { schedule: 'text' }),
    columnsOf(scheduling.pruneSchedules, { schedule: 'text' }),
    columnsOf(firing.fireSchedules, { schedule: 'text', id: 'text', kind: 'text', queue: 'text' }),
    columnsOf(firing.beginFire, BEGUN),
    columnsOf(firing.awaitSchedule, { schedule: 'text' }),
    columnsOf(firing.markFire, { schedule: 'text' }),
    columnsOf(publishEvents, { published: 'int4' }),
    columnsOf(sequencing.sequenceEvents, SEQUENCED),
    columnsOf(sequencing.lookBeforeMark, { place: 'float8' }),
    columnsOf(sequencing.waitingStreams, { stream: 'text' }),
    columnsOf(reading.readEvents, EVENT),
    columnsOf(reading.readEventsOfKey, EVENT),
    columnsOf(consumers.takeConsumer, { token: 'float8' }),
    columnsOf(consumers.lookAtConsumer, CONSUMER),
    columnsOf(consumers.keepConsumer, { lease_ends_at: 'float8' }),
    columnsOf(consumers.releaseConsumer, { sent: 'int4' }),
    columnsOf(consumers.moveConsumer, { token: 'float8' }),
    columnsOf(consumers.saveOffset, { head: 'float8', is_saved: 'bool' }),
    columnsOf(positions.streamEnds, { first: 'float8', head: 'float8' }),
    columnsOf(positions.firstEventSince, { event_offset: 'float8', looked_until: 'float8' }),
    columnsOf(positions.eventOffsetOf, { event_offset: 'float8' }),
    columnsOf(streamAdmin.listStreams, STREAM),
    columnsOf(streamAdmin.listConsumers, LISTED_CONSUMER),
    columnsOf(streamAdmin.trimEvents, { removed: 'int4', looked_until: 'float8' }),
    columnsOf(claiming.nextDue, { due_at: 'float8' }),
    columnsOf(claiming.lookBeforeMarks, HIDDEN),
    columnsOf(leases.renewLeases, HELD),
    columnsOf(leases.heldLeases, HELD),
    columnsOf(leases.lapsedLeases, LAPSED),
    columnsOf(leases.strayLeases, LAPSED),
    columnsOf(leases.lockLease, { locked: 'int4' }),
    columnsOf(leases.boundTransaction, { bound: 'text', pid: 'int4', began: 'text' }),
    columnsOf(leases.endTransaction, { ended: 'bool' }),
    columnsOf(leases.openTransaction, { pid: 'int4' }),
    columnsOf(leases.readCommitted, {}),
    columnsOf(leases.saveCarry, { job_id: 'text' }),
    columnsOf(leases.saveProgress, { job_id: 'text' }),
    columnsOf(limitLockWait, { bound: 'text' }),
    columnsOf(completeRuns, { applied: 'int4', told: 'text', named: 'text' }),
    columnsOf(completeAlikeRuns, { applied: 'int4', told: 'text', named: 'text' }),
    columnsOf(settling.settleRuns, { applied: 'int4', told: 'text', named: 'text' }),
    columnsOf(settling.settleRun, SETTLED),
    columnsOf(settling.settledRuns, MOVED),
    columnsOf(settling.recoverRuns, SETTLED),
    columnsOf(locks.takeLock, {
      token: 'float8',
      expires_at: 'float8',
      held_until: 'float8',
      ahead: 'int4',
    }),
    columnsOf(locks.leaveLock, { holder: 'text' }),
    columnsOf(locks.renewLocks, HELD_LOCK),
    columnsOf(locks.heldLocks, HELD_LOCK),
    columnsOf(locks.releaseLocks, { name: 'text', holder: 'text' }),
    columnsOf(lockAdmin.breakLock, { name: 'text' }),
    columnsOf(lockAdmin.listLocks, {
      name: 'text',
      owner: 'text',
      token: 'float8',
      acquired_at: 'float8',
      expires_at: 'float8',
      waiting: 'int4',
    }),
    columnsOf(lockAdmin.pruneLocks, { pruned: 'int4' }),
    columnsOf(lockAdmin.pruneLockWaiters, { pruned: 'int4' }),
    columnsOf(notifyChannel, { sent: 'int4' }),
  ])
