import type { Clock } from './core/clock.ts'
import { chance, makeId } from './core/id.ts'
import type { Origin } from './core/telemetry.ts'
import type { Engine } from './database/database.ts'
import { borrowedTransaction } from './database/drivers/borrowed.ts'
import { executor } from './database/executor.ts'
import type { Executor, Lane, Runner } from './database/executor.ts'
import { hintUntil } from './database/hint.ts'
import { namespace } from './database/namespace.ts'
import type { Tx } from './database/transaction-types.ts'
import { silentWakeups } from './database/silent-wakeups.ts'
import { startCheck, STATEMENT_TIMEOUT, timingOf } from './database/start.ts'
import { wakeups } from './database/wakeups.ts'
import type { Wakeups } from './database/wakeups.ts'
import { channelsOf } from './channels/channels.ts'
import type { Channels } from './channels/channels.ts'
import { ClosedError } from './errors.ts'
import { enqueuer } from './jobs/enqueue.ts'
import { readJournal } from './jobs/inspect.ts'
import type { JobKind } from './jobs/kind.ts'
import { jobsOf } from './jobs/jobs.ts'
import type { Jobs, JobsParts } from './jobs/jobs.ts'
import type { Producer } from './jobs/producer.ts'
import { locking } from './locks/locks.ts'
import type { Locking, LockVerbs } from './locks/locks.ts'
import type { Mill } from './mill.ts'
import type { OpenSettings } from './open-options.ts'
import { outboxesOf } from './outbox/outboxes.ts'
import { producers } from './producers.ts'
import type { Producers } from './producers.ts'
import { queueDecisions } from './queues/decisions.ts'
import type { QueueDecisions } from './queues/decisions.ts'
import { queuesOf } from './queues/queues.ts'
import type { Queues } from './queues/queues.ts'
import { schedulesOf } from './schedules/schedules.ts'
import type { Schedules, SchedulesParts } from './schedules/schedules.ts'
import { streamService } from './streams/service.ts'
import type { StreamService } from './streams/service.ts'
import type { Streams } from './streams/streams.ts'
import { logNotices } from './telemetry/logger.ts'
import { batchTransactions } from './worker/batch-transactions.ts'
import type { ClaimOptions } from './worker/claim-handles.ts'
import type { JobHandle } from './worker/handle.ts'
import { handleDesk } from './worker/handle-desk.ts'
import type { HandleDesk } from './worker/handle-desk.ts'
import type { WorkerOptions } from './worker/options.ts'
import { eventOutlets } from './worker/event-outlets.ts'
import type { EventOutlets } from './worker/event-outlets.ts'
import { makeWorker } from './worker/worker.ts'
import type { Worker } from './worker/worker.ts'
import { workerId } from './worker/working.ts'

/** A running client over an engine: the start check, the connections, and everything on top of them. */
export async function connect(
  engine: Engine,
  settings: OpenSettings,
  manual?: Clock,
): Promise<Mill> {
  const place = namespace(settings.schema, settings.prefix)
  const origin: Origin = { schema: place.schema, prefix: place.prefix }
  const stopLogging = settings.logger === false ? undefined : logNotices(origin, settings.logger)
  const timing = timingOf(manual)
  try {
    await startCheck(engine, place, { migrate: settings.migrate, clock: timing.databaseClock })
    const statements = executor({
      engine,
      namespace: place,
      origin,
      ...timing,
      timeoutMs: STATEMENT_TIMEOUT,
      prepare: settings.prepare,
    })
    const isAlone = engine.isSingleConnection
    const asking = (): Lane => statements.lane('enqueue')
    const decisions = queueDecisions({ clock: timing.clock, asking, isAlone })
    // Known from the start, so that the first asks need not wait for it, nor leave one by one because
    // of it; and where there is only one connection, that may later be the application's.
    await decisions.ready(asking())
    return new Client({
      engine,
      statements,
      decisions,
      settings,
      doubts: () => timing.databaseClock?.doubts ?? 0,
      errorMs: () => timing.databaseClock?.errorMs ?? 0,
      onClosed: () => {
        timing.databaseClock?.close()
        stopLogging?.()
      },
    })
  } catch (error) {
    timing.databaseClock?.close()
    stopLogging?.()
    await engine.close().catch(() => undefined)
    throw error
  }
}

interface ClientParts {
  readonly engine: Engine
  readonly statements: Executor
  readonly decisions: QueueDecisions
  readonly settings: OpenSettings
  readonly doubts: () => number
  readonly errorMs: () => number
  readonly onClosed: () => void
}

class Client implements Mill {
  readonly jobs: Jobs
  readonly queues: Queues
  readonly schedules: Schedules
  readonly schedule: SchedulesParts['schedule']
  readonly enqueue: Producer['enqueue']
  readonly enqueueMany: Producer['enqueueMany']
  readonly send: Producer['send']
  readonly outboxes: Mill['outboxes']
  readonly notify: Producer['notify']
  readonly listen: Channels['listen']
  readonly locks: LockVerbs['locks']
  readonly tryLock: LockVerbs['tryLock']
  readonly lock: LockVerbs['lock']
  readonly withLock: LockVerbs['withLock']
  readonly streams: Streams
  readonly publish: Producer['publish']
  readonly publishMany: Producer['publishMany']
  readonly saveOffset: Producer['saveOffset']
  readonly subscribe: Mill['subscribe']
  readonly consume: Mill['consume']
  readonly #parts: ClientParts
  readonly #enqueuer: ReturnType<typeof enqueuer>
  readonly #producers: Producers
  readonly #jobs: JobsParts
  readonly #outlets: EventOutlets
  readonly #channels: Channels
  readonly #locking: Locking
  readonly #streams: StreamService
  #wakeups: Wakeups | undefined
  #desk: HandleDesk | undefined
  readonly #workers = new Set<Worker>()
  #closing: Promise<void> | undefined

  constructor(parts: ClientParts) {
    this.#parts = parts
    this.#enqueuer = enqueuer({
      executor: parts.statements,
      maxPayload: parts.settings.maxPayload,
      hintUntil: this.#hintUntil,
      journal: readJournal,
    })
    const { decisions, doubts, errorMs, settings, statements } = parts
    const { maxPayload } = settings
    this.#producers = producers({
      executor: statements,
      enqueuer: this.#enqueuer,
      decisions,
      maxPayload,
      hintUntil: this.#hintUntil,
      streams: () => this.#streams,
      check: () => this.#mustBeOpen(),
    })
    this.enqueue = this.#producers.own.enqueue
    this.enqueueMany = this.#producers.own.enqueueMany
    this.send = this.#producers.own.send
    const wakeups = (): Wakeups => this.#listening()
    const shared = { executor: statements, wake: settings.wake, wakeups }
    this.#channels = channelsOf(shared)
    this.notify = this.#channels.notify
    this.listen = this.#channels.listen
    this.#locking = locking({ ...shared, doubts, errorMs })
    const { verbs } = this.#locking
    this.locks = verbs.locks
    this.tryLock = verbs.tryLock
    this.lock = verbs.lock
    this.withLock = verbs.withLock
    const { clock, events, lane } = statements
    const runner = (): Runner => lane('read')
    this.#jobs = jobsOf({ runner, clock, events, wakeups, hintUntil: this.#hintUntil })
    this.jobs = this.#jobs.jobs
    const beside = (): Lane => lane(this.#wakeups === undefined ? 'enqueue' : 'maintenance')
    this.#outlets = eventOutlets({ clock, events, lane: beside, ...settings })
    this.outboxes = outboxesOf({ runner, hintUntil: this.#hintUntil })
    const announce = settings.wake === 'listen'
    this.queues = queuesOf({ runner, decisions, announce })
    const { schedule, schedules } = schedulesOf({
      executor: statements,
      runner,
      announce,
      hintUntil: this.#hintUntil,
      prepareAsk: this.#producers.forRuns.prepareAsk,
      write: this.#enqueuer.enqueueOn,
    })
    this.schedule = schedule
    this.schedules = schedules
    this.#streams = streamService({
      executor: statements,
      wakeups,
      maxPayload,
      isAnnounced: announce,
      newHolder: () => this.#newWorkerId(),
      transactions: batchTransactions({ executor: statements, ...this.#producers.forRuns }),
    })
    this.streams = this.#streams.streams
    this.publish = this.#streams.own.publish
    this.publishMany = this.#streams.own.publishMany
    this.saveOffset = this.#streams.own.saveOffset
    this.subscribe = this.#streams.subscribe
    this.consume = this.#streams.consume
  }

  in<T>(transaction: T & Tx<T>): Producer {
    return this.#producers.on(borrowedTransaction(transaction), Object(transaction))
  }

  worker(options: WorkerOptions = {}): Worker {
    this.#mustBeOpen()
    const { statements, doubts } = this.#parts
    const worker: Worker = makeWorker({
      id: this.#newWorkerId(),
      options,
      context: () => ({
        executor: statements,
        wakeups: this.#listening(),
        decisions: this.#parts.decisions,
        hintUntil: this.#hintUntil,
        doubts,
        sequenceStreams: this.#streams.sequenceAll,
        ...this.#producers.forRuns,
      }),
      onStopped: () => this.#workers.delete(worker),
    })
    this.#workers.add(worker)
    return worker
  }

  async claim<const Kinds extends readonly JobKind[]>(
    options: ClaimOptions<Kinds>,
  ): Promise<readonly JobHandle<Kinds[number]>[]> {
    this.#mustBeOpen()
    const { statements: executor } = this.#parts
    this.#desk ??= handleDesk({
      worker: this.#newWorkerId(),
      executor,
      decisions: this.#parts.decisions,
      hintUntil: this.#hintUntil,
    })
    const handles = await this.#desk.claim(options)
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- of the kinds that were asked for
    return handles as readonly JobHandle<Kinds[number]>[]
  }

  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  async #close(): Promise<void> {
    const { statements, engine, onClosed } = this.#parts
    this.#jobs.close()
    try {
      this.#channels.close()
      await Promise.all([this.#streams.close(), ...[...this.#workers].map((each) => each.stop())])
      await this.#locking.close()
      await this.#desk?.close()
      await this.#producers.idle()
      await this.#outlets.close()
      await this.#wakeups?.close()
      await statements.close()
      await engine.close()
    } finally {
      onClosed()
    }
  }

  #mustBeOpen(): void {
    if (this.#closing !== undefined) throw new ClosedError()
  }

  /** One listener for all workers, made for the first: a client that only enqueues has none. */
  #listening(): Wakeups {
    const { engine, statements, settings } = this.#parts
    const { clock, namespace: place, origin } = statements
    this.#wakeups ??=
      settings.wake === 'listen'
        ? wakeups(engine, place.channel, { clock, random: chance, origin })
        : silentWakeups()
    return this.#wakeups
  }

  #newWorkerId(): string {
    return workerId(makeId(this.#parts.statements.clock.now()).slice(-8).toLowerCase())
  }

  readonly #hintUntil = (): string =>
    hintUntil(this.#parts.settings.wake, this.#parts.statements.clock.now())
}
