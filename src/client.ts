import { databaseClock } from './core/clock.ts'
import type { Clock, DatabaseClock } from './core/clock.ts'
import { chance, makeId } from './core/id.ts'
import { instantText } from './core/instant-text.ts'
import type { Origin } from './core/telemetry.ts'
import { checkDatabase } from './database/check.ts'
import { takeSample } from './database/clock-sample.ts'
import type { Engine, Queryable } from './database/database.ts'
import { borrowedTransaction } from './database/drivers/borrowed.ts'
import { executor } from './database/executor.ts'
import type { Executor, Lane, Runner } from './database/executor.ts'
import { migrateUp } from './database/migrate.ts'
import { namespace } from './database/namespace.ts'
import type { Namespace } from './database/namespace.ts'
import type { Tx } from './database/transaction-types.ts'
import { silentWakeups } from './database/silent-wakeups.ts'
import { inTurn } from './database/turns-inside.ts'
import { wakeups } from './database/wakeups.ts'
import type { Wakeups } from './database/wakeups.ts'
import { ClosedError, NotMigratedError } from './errors.ts'
import { prepareAsk } from './jobs/ask.ts'
import type { Ask } from './jobs/ask.ts'
import { enqueuer } from './jobs/enqueue.ts'
import { readJournal } from './jobs/inspect.ts'
import type { EnqueueResult } from './jobs/job.ts'
import { jobsOf } from './jobs/jobs.ts'
import type { Jobs, JobsParts } from './jobs/jobs.ts'
import { producer } from './jobs/producer.ts'
import type { Producer } from './jobs/producer.ts'
import type { OpenSettings } from './open-options.ts'
import { queueDecisions } from './queues/decisions.ts'
import type { QueueDecisions } from './queues/decisions.ts'
import { queuesOf } from './queues/queues.ts'
import type { Queues } from './queues/queues.ts'
import { logNotices } from './telemetry/logger.ts'
import type { WorkerOptions } from './worker/options.ts'
import { makeWorker } from './worker/worker.ts'
import type { Worker } from './worker/worker.ts'
import { workerId } from './worker/working.ts'
import type { WorkerContext } from './worker/working.ts'

/** A client of one namespace: it enqueues, looks, and makes workers. */
export interface Mill extends Producer, AsyncDisposable {
  readonly jobs: Jobs
  readonly queues: Queues
  /**
   * The same verbs inside a transaction of yours: what they write is there when you commit, and
   * never was when you roll back.
   *
   * @example
   * await sql.begin(async (tx) => mill.in(tx).enqueue(welcome, { userId }))
   */
  in<T>(transaction: T & Tx<T>): Producer
  /** A worker of this client; it does nothing until `start` or `run`. */
  worker(options?: WorkerOptions): Worker
  /** Stops this client's workers, writes what is under way, and ends its connections. */
  close(): Promise<void>
}

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
    await check(engine, place, { migrate: settings.migrate, clock: timing.databaseClock })
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
    // Later the one connection may be the application's, in whose transaction an ask cannot wait.
    if (isAlone) await decisions.ready(asking())
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

/** Time is the database's, unless a test moves it by hand. */
function timingOf(manual: Clock | undefined): {
  readonly clock: Clock
  readonly databaseClock: DatabaseClock | null
} {
  if (manual !== undefined) return { clock: manual, databaseClock: null }
  const clock = databaseClock()
  return { clock, databaseClock: clock }
}

// No statement of ours takes longer unless the connection is dead.
const STATEMENT_TIMEOUT = 30_000
// Jobs due within this are announced; beyond it polling is in time (E8).
const HINT_WITHIN = 30_000

/** The start check; the clock is set before anything asks it, since it never goes back. */
async function check(
  engine: Engine,
  place: Namespace,
  options: { readonly migrate: 'check' | 'auto'; readonly clock: DatabaseClock | null },
): Promise<void> {
  const session = await engine.connect({ purpose: 'check', timeoutMs: STATEMENT_TIMEOUT })
  try {
    if (options.clock !== null) await takeSample(session, options.clock, place)
    if (options.migrate === 'auto') await migrateUp(session, place)
    const problems = await checkDatabase(session, place)
    if (problems.length > 0) throw new NotMigratedError(place.schema, problems)
  } finally {
    await session.close()
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
  readonly #parts: ClientParts
  readonly #enqueuer: ReturnType<typeof enqueuer>
  readonly #decisions: QueueDecisions
  readonly #jobs: JobsParts
  #wakeups: Wakeups | undefined
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
    const runner = (): Runner => parts.statements.lane('read')
    this.#jobs = jobsOf({
      runner,
      clock: parts.statements.clock,
      wakeups: () => this.#listening(),
      hintUntil: this.#hintUntil,
    })
    this.jobs = this.#jobs.jobs
    const announce = parts.settings.wake === 'listen'
    this.queues = queuesOf({ runner, decisions: this.#decisions, announce })
  }

  in<T>(transaction: T & Tx<T>): Producer {
    return this.#producerOn(borrowedTransaction(transaction), Object(transaction))
  }

  /** `holder` is what calls take turns on: the caller's own transaction object. */
  #producerOn(transaction: Queryable, holder: object = transaction): Producer {
    const inside = <R>(work: (runner: Runner) => Promise<R>): Promise<R> =>
      inTurn(holder, async () => work(await this.#borrow(transaction)))
    return this.#producer(
      (ask) => inside((runner) => this.#enqueuer.enqueueOn(runner, ask)),
      (asks) => inside((runner) => this.#enqueuer.enqueueManyOn(runner, asks)),
    )
  }

  worker(options: WorkerOptions = {}): Worker {
    if (this.#closing !== undefined) throw new ClosedError()
    const { statements, doubts } = this.#parts
    const worker: Worker = makeWorker({
      id: workerId(makeId(statements.clock.now()).slice(-8).toLowerCase()),
      options,
      context: () => ({
        executor: statements,
        wakeups: this.#listening(),
        decisions: this.#decisions,
        hintUntil: this.#hintUntil,
        doubts,
        ...this.#forRuns(),
      }),
      onStopped: () => this.#workers.delete(worker),
    })
    this.#workers.add(worker)
    return worker
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
      await Promise.all([...this.#workers].map((worker) => worker.stop()))
      await this.#enqueuer.idle()
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

  readonly #hintUntil = (): string => {
    const { settings, statements } = this.#parts
    if (settings.wake === 'poll') return '-infinity'
    return instantText(statements.clock.now() + HINT_WITHIN)
  }

  #producer(
    one: (ask: Ask, hasGivenId: boolean) => Promise<EnqueueResult>,
    many: (asks: AsyncIterable<Ask>) => Promise<readonly EnqueueResult[]>,
  ): Producer {
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

  async #borrow(transaction: Queryable): Promise<Runner> {
    if (this.#closing !== undefined) throw new ClosedError()
    return this.#parts.statements.borrow(transaction)
  }
}

async function* each<T>(items: readonly T[]): AsyncGenerator<T, void> {
  yield* items
}
