/// <reference lib="esnext.disposable" preserve="true" />

// Open a database
export { open } from './open.ts'
export type { OpenOptions } from './open-options.ts'
export type { Mill } from './mill.ts'
export type { Database, Embedded, PgPool, PostgresJs } from './database/connect.ts'
export type { Tx } from './database/transaction-types.ts'
export type { Logger } from './telemetry/logger.ts'

// Define kinds
export { defineJob } from './jobs/kind.ts'
export type {
  CarryOf,
  InputOf,
  JobKind,
  JobOptions,
  Keep,
  KeepOptions,
  KindTypes,
  NameOf,
  ParsedOf,
  Priority,
  ResultOf,
  Retry,
  StampedOptions,
} from './jobs/kind.ts'
export { typed } from './core/schema.ts'
export type { Schema, SchemaIn, SchemaIssue, SchemaOut, SchemaResult } from './core/schema.ts'
export type { Json, JsonSafe, MustBeJson } from './core/json.ts'
export { duration } from './core/duration.ts'
export type { Duration, Unit } from './core/duration.ts'
export type { Backoff, BackoffType } from './core/backoff.ts'
export type { OneOf } from './core/one-of.ts'

// Enqueue
export type { JobProducer, Producer } from './jobs/producer.ts'
export type { EnqueueOptions, InputArgs } from './jobs/options.ts'
export type { EnqueueOutcome, EnqueueResult } from './jobs/job.ts'

// Work
export { defineHandlers, isHandlers } from './worker/handlers.ts'
export type { Handler, HandlerOptions, HandlerReturn, Handlers, Once } from './worker/handlers.ts'
export type { Paused, PauseUntil, Run } from './worker/run.ts'
export type { Transaction } from './worker/run-transaction.ts'
export type { TransactionOf, TransactionSource } from './worker/transaction-source.ts'
export { GiveUp, RetryIn } from './worker/verdict.ts'
export { shutdownSignal } from './worker/shutdown.ts'
export type { WorkerOptions } from './worker/options.ts'
export type { Worker } from './worker/worker.ts'
export type { ClaimOptions } from './worker/claim-handles.ts'
export type { Handle, JobHandle } from './worker/handle.ts'

// Lock
export type { Lock } from './locks/lock.ts'
export type { LockOptions, LockWaitOptions } from './locks/lock-options.ts'
export type { LockListOptions, LockRecord, Locks } from './locks/lock-records.ts'
export type { LockVerbs } from './locks/locks.ts'

// Notify
export type { ListenOptions } from './channels/channels.ts'
export type { ChannelMessage, Listener } from './channels/listener.ts'

// Decide about queues
export type { QueueRecord, Queues } from './queues/queues.ts'
export type { QueueDefaults } from './jobs/queue-defaults.ts'

// Repeat by the clock
export type { ScheduleOptions } from './schedules/options.ts'
export type { CatchUp, ScheduleRecord } from './schedules/record.ts'
export type { PruneOptions, Schedules } from './schedules/schedules.ts'
// Streams
export { defineStream } from './streams/stream.ts'
export type { StreamOptions } from './streams/stream.ts'
export type {
  DataOf,
  EventIn,
  EventProducer,
  EventToPublish,
  Published,
  PublishOptions,
  StreamDefinition,
  StreamTypes,
} from './core/event-producer.ts'
export type { StreamEvent } from './streams/event.ts'
export type { ConsumeOptions, SubscribeOptions } from './streams/options.ts'
export type { From } from './streams/position.ts'
export type { ConsumerRecord, ReadOptions, StreamRecord, Streams } from './streams/streams.ts'
export type { Subscription } from './streams/subscribe.ts'
export type { Trimmed, TrimOptions } from './streams/trim.ts'

// Deliver outside
export { defineOutbox } from './outbox/outbox.ts'
export type { OutboxOptions } from './outbox/outbox.ts'
export type {
  MessageIn,
  MessageOf,
  MessageProducer,
  MessageTypes,
  OutboxDefinition,
  SendOptions,
  Sent,
} from './core/message-producer.ts'
export type { HaltedKey, Outboxes } from './outbox/outboxes.ts'
export type { Deliver, Delivery } from './worker/deliver.ts'

// Look inside
export type { Jobs } from './jobs/jobs.ts'
export type { ExplainReason, ExplainReport } from './jobs/explain.ts'
export type { Count, QueueStats, Stats } from './jobs/stats.ts'
export type { EventsOptions, JobNews } from './jobs/event-news.ts'
export type { SentEvent } from './jobs/event-text.ts'
export type { JobEvent, JobEventName } from './core/job-events.ts'
export type { Notice, Origin, RunContext, StatementContext } from './core/telemetry.ts'
export type {
  CancelledJob,
  CompletedJob,
  Cursor,
  DeadJob,
  DeadReason,
  Ended,
  Entry,
  FinishedJob,
  JobFacts,
  JobFilter,
  JobRecord,
  JobState,
  JournalEntry,
  Listing,
  ListOptions,
  Page,
  PendingJob,
  Progress,
  RunEntry,
  RunningJob,
} from './jobs/job.ts'
export type { RecordedError } from './core/recorded-error.ts'

// Decide about jobs
export type { Bulk, Changed, Ids } from './jobs/bulk.ts'
export type { CancelOptions } from './jobs/cancel.ts'
export type { CleanupFilter } from './jobs/cleanup.ts'
export type { RetryOptions } from './jobs/redrive.ts'
export type { Reschedule, RescheduleOptions } from './jobs/reschedule.ts'
export type { WaitOptions } from './jobs/wait.ts'

// Migrate
export { migrations } from './migrations.ts'
export type { GrantOptions, Migrations, MigrationsOptions, UpOptions } from './migrations.ts'
export type { Migrated } from './database/migrate.ts'
export type { DatabaseProblem, ProblemCode } from './database/migration-history.ts'
export type { MigrationState, MigrationStatus } from './database/migration-status.ts'

// Verify
export { statements, verify } from './database/verify.ts'
export type {
  Disagreement,
  StatementsOptions,
  StatementText,
  Verification,
} from './database/verify.ts'

// Errors
export {
  CancelledError,
  ClosedError,
  DatabaseError,
  InvalidInputError,
  InvalidNameError,
  InvalidOptionError,
  LeaseLostError,
  MigrationError,
  MillraceError,
  NotMigratedError,
  PayloadTooLargeError,
  RunTimeoutError,
  ShutdownError,
  UnknownJobError,
  UnknownKindError,
  WaitTimeoutError,
} from './errors.ts'
export { LockLostError, LockWaitError } from './locks/lock-errors.ts'
export { UnknownScheduleError } from './schedules/schedule-errors.ts'
export { EventsTrimmedError, InvalidEventError } from './streams/stream-errors.ts'
export type { BrokenRule, DatabaseErrorFacts, InputIssue, MigrationProblem } from './errors.ts'
