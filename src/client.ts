import type { Clock } from './core/clock.ts'
import { chance, makeId } from './core/id.ts'
import type { Origin } from './core/telemetry.ts'
import type { Engine, Queryable } from './database/database.ts'
import { borrowedTransaction } from './database/drivers/borrowed.ts'
import { executor } from './database/executor.ts'
import type { Executor, Lane, Runner } from './database/executor.ts'
import { hintUntil } from './database/hint.ts'
import { namespace } from './database/namespace.ts'
import type { Tx } from './database/transaction-types.ts'
import { silentWakeups } from './database/silent-wakeups.ts'
import { startCheck, STATEMENT_TIMEOUT, timingOf } from './database/start.ts'
import { inTurn } from './database/turns-inside.ts'
import { wakeups } from './database/wakeups.ts'
import type { Wakeups } from './database/wakeups.ts'
import { ClosedError } from './errors.ts'
import { prepareAsk } from './jobs/ask.ts'
import type { Ask } from './jobs/ask.ts'
import { enqueuer } from './jobs/enqueue.ts'
import { readJournal } from './jobs/inspect.ts'
import type { EnqueueResult } from './jobs/job.ts'
import type { JobKind } from './jobs/kind.ts'
import { jobsOf } from './jobs/jobs.ts'
import type { Jobs, JobsParts } from './jobs/jobs.ts'
import { producer } from './jobs/producer.ts'
import type { JobProducer, Producer } from './jobs/producer.ts'
import type { Mill } from './mill.ts'
import type { OpenSettings } from './open-options.ts'
import { queueDecisions } from './queues/decisions.ts'
import type { QueueDecisions } from './queues/decisions.ts'
import { queuesOf } from './queues/queues.ts'
import type { Queues } from './queues/queues.ts'
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
import type { WorkerContext } from './worker/working.ts'

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
  readonly onClosed: () => void
}

class Client implements Mill {
  readonly jobs: Jobs
  readonly queues: Queues
  readonly enqueue: Producer['enqueue']
  readonly enqueueMany: Producer['enqueueMany']
  readonly streams: Streams
  readonly publish: Producer['publish']
  readonly publishMany: Producer['publishMany']
  readonly saveOffset: Producer['saveOffset']
  readonly subscribe: Mill['subscribe']
  readonly consume: Mill['consume']
  readonly #parts: ClientParts
  readonly #enqueuer: ReturnType<typeof enqueuer>
  readonly #decisions: QueueDecisions
  readonly #jobs: JobsParts
  readonly #outlets: EventOutlets
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
    this.#decisions = parts.decisions
    const own = this.#producer(this.#enqueuer.enqueue, this.#enqueuer.enqueueMany)
    this.enqueue = own.enqueue
    this.enqueueMany = own.enqueueMany
    const { clock, events, lane } = parts.statements
    const runner = (): Runner => lane('read')
    this.#jobs = jobsOf({
      runner,
      clock,
      events,
      wakeups: () => this.#listening(),
      hintUntil: this.#hintUntil,
    })
    this.jobs = this.#jobs.jobs
    const beside = (): Lane => lane(this.#wakeups === undefined ? 'enqueue' : 'maintenance')
    this.#outlets = eventOutlets({ clock, events, lane: beside, ...parts.settings })
    const announce = parts.settings.wake === 'listen'
    this.queues = queuesOf({ runner, decisions: this.#decisions, announce })
    this.#streams = streamService({
      executor: parts.statements,
      wakeups: () => this.#listening(),
      maxPayload: parts.settings.maxPayload,
      isAnnounced: announce,
      newHolder: () => this.#newWorkerId(),
      transactions: batchTransactions({ executor: parts.statements, ...this.#forRuns() }),
    })
    this.streams = this.#streams.streams
    this.publish = this.#streams.own.publish
    this.publishMany = this.#streams.own.publishMany
    this.saveOffset = this.#streams.own.saveOffset
    this.subscribe = this.#streams.subscribe
    this.consume = this.#streams.consume
  }

  in<T>(transaction: T & Tx<T>): Producer {
    return this.#producerOn(borrowedTransaction(transaction), Object(transaction))
  }

  /** `holder` is what calls take turns on: the caller's own transaction object. */
  #producerOn(transaction: Queryable, holder: object = transaction): Producer {
    const inside = <R>(work: (runner: Runner) => Promise<R>): Promise<R> =>
      inTurn(holder, async () => work(await this.#borrow(transaction, holder === transaction)))
    const jobs = this.#producer(
      (ask) => inside((runner) => this.#enqueuer.enqueueOn(runner, ask)),
      (asks) => inside((runner) => this.#enqueuer.enqueueManyOn(runner, asks)),
    )
    return { ...jobs, ...this.#streams.on(inside) }
  }

  worker(options: WorkerOptions = {}): Worker {
    if (this.#closing !== undefined) throw new ClosedError()
    const { statements, doubts } = this.#parts
    const worker: Worker = makeWorker({
      id: this.#newWorkerId(),
      options,
      context: () => ({
        executor: statements,
        wakeups: this.#listening(),
        decisions: this.#decisions,
        hintUntil: this.#hintUntil,
        doubts,
        sequenceStreams: this.#streams.sequenceAll,
        ...this.#forRuns(),
      }),
      onStopped: () => this.#workers.delete(worker),
    })
    this.#workers.add(worker)
    return worker
  }

  async claim<const Kinds extends readonly JobKind[]>(
    options: ClaimOptions<Kinds>,
  ): Promise<readonly JobHandle<Kinds[number]>[]> {
    if (this.#closing !== undefined) throw new ClosedError()
    const { statements: executor } = this.#parts
    this.#desk ??= handleDesk({
      worker: this.#newWorkerId(),
      executor,
      decisions: this.#decisions,
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
      await Promise.all([this.#streams.close(), ...[...this.#workers].map((each) => each.stop())])
      await this.#desk?.close()
      await this.#enqueuer.idle()
      await this.#outlets.close()
      await this.#wakeups?.close()
      await statements.close()
      await engine.close()
    } finally {
      onClosed()
    }
  }

  /** One listener for all workers, made for the first: a client that only enqueues has none. */
  #listening(): Wakeups {
    const { engine, statements, settings } = this.#parts
    const { clock, namespace: place } = statements
    this.#wakeups ??=
      settings.wake === 'listen'
        ? wakeups(engine, place.channel, { clock, random: chance })
        : silentWakeups()
    return this.#wakeups
  }

  #newWorkerId(): string {
    return workerId(makeId(this.#parts.statements.clock.now()).slice(-8).toLowerCase())
  }

  readonly #hintUntil = (): string =>
    hintUntil(this.#parts.settings.wake, this.#parts.statements.clock.now())

  #producer(
    one: (ask: Ask, hasGivenId: boolean) => Promise<EnqueueResult>,
    many: (asks: AsyncIterable<Ask>) => Promise<readonly EnqueueResult[]>,
  ): JobProducer {
    const { statements, settings } = this.#parts
    const { maxPayload } = settings
    const queues = this.#decisions
    return producer({ now: statements.clock.now, maxPayload, queues, one, many })
  }

  /** What a run does through its worker, as the client itself would. */
  #forRuns(): Pick<WorkerContext, 'prepareAsk' | 'writeAsks' | 'producerOn'> {
    const { statements, settings } = this.#parts
    const { maxPayload } = settings
    return {
      prepareAsk: (kind, input, options) =>
        prepareAsk(kind, input, {
          options,
          now: statements.clock.now(),
          maxPayload,
          queues: this.#decisions,
        }),
      writeAsks: (runner, asks) => this.#enqueuer.enqueueManyOn(runner, each(asks)),
      producerOn: (transaction) => this.#producerOn(transaction),
    }
  }

  // What runs in a transaction of ours may end it: a close waits for that.
  async #borrow(transaction: Queryable, isOurs: boolean): Promise<Runner> {
    if (this.#closing !== undefined && !isOurs) throw new ClosedError()
    return this.#parts.statements.borrow(transaction)
  }
}

async function* each<T>(items: readonly T[]): AsyncGenerator<T, void> {
  yield* items
}
