import type { Listener } from './channels/listener.ts'
import type { ListenOptions } from './channels/channels.ts'
import type { DataOf, StreamDefinition } from './core/event-producer.ts'
import type { Tx } from './database/transaction-types.ts'
import type { Jobs } from './jobs/jobs.ts'
import type { JobKind } from './jobs/kind.ts'
import type { Producer } from './jobs/producer.ts'
import type { LockVerbs } from './locks/locks.ts'
import type { Outboxes } from './outbox/outboxes.ts'
import type { Queues } from './queues/queues.ts'
import type { ScheduleOptions } from './schedules/options.ts'
import type { ScheduleRecord } from './schedules/record.ts'
import type { Schedules } from './schedules/schedules.ts'
import type { StreamEvent } from './streams/event.ts'
import type { ConsumeOptions, SubscribeOptions } from './streams/options.ts'
import type { Streams } from './streams/streams.ts'
import type { Subscription } from './streams/subscribe.ts'
import type { ClaimOptions } from './worker/claim-handles.ts'
import type { JobHandle } from './worker/handle.ts'
import type { WorkerOptions } from './worker/options.ts'
import type { Transaction } from './worker/run-transaction.ts'
import type { TransactionOf, TransactionSource } from './worker/transaction-source.ts'
import type { Worker } from './worker/worker.ts'

/** A client of one namespace: it enqueues, looks, and makes workers. */
export interface Mill extends Producer, LockVerbs, AsyncDisposable {
  readonly jobs: Jobs
  readonly queues: Queues
  readonly schedules: Schedules
  readonly streams: Streams
  readonly outboxes: Outboxes
  /**
   * The same verbs inside a transaction of yours: what they write is there when you commit, and
   * never was when you roll back.
   *
   * @example
   * await sql.begin(async (tx) => mill.in(tx).enqueue(welcome, { userId }))
   */
  in<T>(transaction: T & Tx<T>): Producer
  /**
   * Enqueues a job again and again, at the boundaries of a cron pattern or of a distance; the workers
   * of the namespace see to it, whatever kinds they handle. Call it at every start: the same again
   * changes nothing, other options change the jobs to come, another timing moves the next fire to its
   * first boundary after now, and a pause stays. The job is checked and stamped here as by `enqueue`;
   * its kind and its queue are not asked again. A kind whose `merge` is a function is fired by workers
   * that handle it.
   *
   * Throws `InvalidNameError`, `InvalidOptionError`, `InvalidInputError` or `PayloadTooLargeError`
   * before anything is written.
   *
   * @example
   * await mill.schedule('totals', { cron: '0 6 * * MON-FRI', timezone: 'Europe/Berlin', kind: totals })
   * await mill.schedule('sweep', { every: '10m', kind: sweep, input: { most: 500 }, overlap: 'skip' })
   */
  schedule<K extends JobKind>(name: string, options: ScheduleOptions<K>): Promise<ScheduleRecord>
  /** A worker of this client; it does nothing until `start` or `run`. */
  worker(options?: WorkerOptions): Worker
  /**
   * Jobs to be run by your own hands: each handle is one run, ended by one of its verbs. Leases are
   * not renewed by themselves (`handle.heartbeat`). Resolves at once, with none when none is due.
   * Throws `InvalidOptionError`, and `DatabaseError` when the database stays away for 10 s.
   *
   * @example
   * for (const job of await mill.claim({ kinds: [charge], limit: 10, lease: '5m' })) {
   *   await job.complete(await chargeCard(job.input))
   * }
   */
  claim<const Kinds extends readonly JobKind[]>(
    options: ClaimOptions<Kinds>,
  ): Promise<readonly JobHandle<Kinds[number]>[]>
  /**
   * Hears a channel, from now on until it is closed or its iteration is left. All listeners of a
   * client share one connection. Messages are hints, kept nowhere: after a `resync` some may be missing.
   *
   * Throws `InvalidNameError`, and `InvalidOptionError` where the client was opened with `wake: 'poll'`.
   * The iteration throws `DatabaseError` behind a pooler, where nothing ever arrives.
   *
   * @example
   * for await (const message of mill.listen('prices', { signal })) {
   *   if (message.type === 'resync') await loadAll()
   *   else update(JSON.parse(message.payload))
   * }
   */
  listen(channel: string, options?: ListenOptions): Listener
  /**
   * The events of a stream, one by one, for the consumer `as`. Asking for the next event acknowledges
   * the last; `break` or a throw does not, so that each event is handled at least once. One process
   * at a time has a consumer's name; others stand by, and take over when it closes or its lease ends.
   * Throws `InvalidOptionError`, `InvalidNameError`, `ClosedError`; the loop throws `LeaseLostError`,
   * `EventsTrimmedError`, `InvalidEventError`.
   *
   * @example
   * for await (const event of mill.subscribe(orders, { as: 'billing' })) {
   *   await bill(event.data)
   * }
   */
  subscribe<S extends StreamDefinition>(
    stream: S,
    options: SubscribeOptions,
  ): Subscription<DataOf<S>>
  /**
   * Batches of events whose effects are there exactly once: what `fn` writes on `tx` is committed
   * together with the consumer's offset, or neither is. `tx` is a transaction on a connection of
   * ours, or, with `transaction: db`, one that your own library opens on the same database.
   *
   * Resolves when the signal aborts or the client closes, after the batch under way. Rejects with what
   * `fn` throws, which is rolled back, and as `subscribe`; when another process took the name while
   * a batch was at work, that is rolled back, and this one stands by again.
   *
   * @example
   * await mill.consume(orders, { as: 'totals', signal }, async (events, tx) => {
   *   await tx.query('update totals set orders = orders + $1', [events.length])
   * })
   */
  consume<S extends StreamDefinition, Db extends TransactionSource>(
    stream: S,
    options: ConsumeOptions & { transaction: Db },
    fn: (events: readonly StreamEvent<DataOf<S>>[], tx: TransactionOf<Db>) => Promise<void>,
  ): Promise<void>
  consume<S extends StreamDefinition>(
    stream: S,
    options: ConsumeOptions,
    fn: (events: readonly StreamEvent<DataOf<S>>[], tx: Transaction) => Promise<void>,
  ): Promise<void>
  /** Stops this client's workers, ends its subscriptions, listeners and waits, releases its locks, writes what is under way, and ends its connections. */
  close(): Promise<void>
}
