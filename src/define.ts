/**
 * `millrace/define`: for code that only defines kinds, in a browser or at the edge too. Nothing here
 * imports from Node.
 */
export { defineJob } from './jobs/kind.ts'
export { defineStream } from './streams/stream.ts'
export { defineOutbox } from './outbox/outbox.ts'
export { typed } from './core/schema.ts'
export { duration } from './core/duration.ts'
export { InvalidNameError, InvalidOptionError, MillraceError } from './errors.ts'

export type {
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
export type {
  CancelledJob,
  CompletedJob,
  DeadJob,
  DeadReason,
  Ended,
  FinishedJob,
  JobFacts,
  JobRecord,
  JobState,
  PendingJob,
  RunningJob,
} from './jobs/job.ts'
export type { DataOf, EventIn, StreamDefinition, StreamTypes } from './core/event-producer.ts'
export type {
  MessageIn,
  MessageOf,
  MessageTypes,
  OutboxDefinition,
} from './core/message-producer.ts'
export type { OutboxOptions } from './outbox/outbox.ts'
export type { StreamOptions } from './streams/stream.ts'
export type { Backoff, BackoffType } from './core/backoff.ts'
export type { Duration, Unit } from './core/duration.ts'
export type { Json, JsonSafe, MustBeJson } from './core/json.ts'
export type { RecordedError } from './core/recorded-error.ts'
export type { Schema, SchemaIn, SchemaIssue, SchemaOut, SchemaResult } from './core/schema.ts'
