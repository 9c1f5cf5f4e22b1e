import type { Clock, DatabaseClock } from '../core/clock.ts'
import { instantText } from '../core/instant-text.ts'
import { jobEvents } from '../core/job-events.ts'
import type { JobEvents } from '../core/job-events.ts'
import { statementChannel } from '../core/telemetry.ts'
import type { Origin } from '../core/telemetry.ts'
import { ClosedError } from '../errors.ts'
import { takeSample } from './clock-sample.ts'
import type { Engine, Queryable, Row, Session } from './database.ts'
import type { Namespace } from './namespace.ts'
import { silence } from './silence.ts'
import type { Hearing, Silence } from './silence.ts'
import { bind } from './statement.ts'
import type { Parameters, Statement } from './statement.ts'

/**
 * Runs named statements, on lanes: a lane is one connection of our own with one purpose (enqueue,
 * claim, settle, renew, maintenance), so that no purpose ever waits for another, and least of all
 * for the application's transactions (M7). A lane connects when first used, and again after its
 * connection was lost; the caller decides whether a failed statement is repeated.
 */
export interface Runner {
  /** Every statement gets `$now` from the client's clock, unless the caller gives it. */
  run<Params extends Parameters, Result>(
    statement: Statement<Params, Result>,
    params: Params,
  ): Promise<readonly Result[]>
}

export interface Lane extends Runner {
  /** Connects, and sets the clock, where that is due: an instant that is read after it may be written. */
  ready(): Promise<void>
  transaction<T>(work: (runner: Runner) => Promise<T>): Promise<T>
  close(): Promise<void>
}

export interface Executor {
  readonly clock: Clock
  /** How far the clock may be off the database's, in milliseconds. */
  readonly errorMs: () => number
  readonly namespace: Namespace
  readonly origin: Origin
  /** What becomes of this client's jobs is told here. */
  readonly events: JobEvents
  readonly engine: Engine
  /** The lane of a purpose; the same purpose is the same lane. */
  lane(purpose: string): Lane
  /** Statements on the caller's own transaction. */
  borrow(transaction: Queryable): Promise<Runner>
  close(): Promise<void>
}

export interface ExecutorOptions {
  readonly engine: Engine
  readonly namespace: Namespace
  readonly origin: Origin
  readonly clock: Clock
  /** The same clock when it is set by the database's; null when it is moved by hand. */
  readonly databaseClock: DatabaseClock | null
  readonly timeoutMs: number
  readonly prepare: boolean
}

export function executor(options: ExecutorOptions): Executor {
  const lanes = new Map<string, Lane>()
  const silent = silence()
  let closed = false

  function lane(purpose: string): Lane {
    if (closed) throw new ClosedError()
    const existing = lanes.get(purpose)
    if (existing !== undefined) return existing
    const made = openLane(purpose, options, silent)
    lanes.set(purpose, made)
    return made
  }

  // The clock is sampled over our own connection, since the caller's may be in a failed transaction.
  // Where there is only one connection he holds it: our own would wait for his transaction to end,
  // and he waits for us.
  async function sampleBeside(transaction: Queryable): Promise<void> {
    const { engine, databaseClock, namespace } = options
    if (!engine.isSingleConnection) await lane('enqueue').run(NOTHING, {})
    else if (databaseClock !== null) await takeSample(transaction, databaseClock, namespace)
  }

  return {
    clock: options.clock,
    errorMs: () => options.databaseClock?.errorMs ?? 0,
    namespace: options.namespace,
    origin: options.origin,
    events: jobEvents(options.origin, options.clock.now),
    engine: options.engine,
    lane,
    async borrow(transaction) {
      if (options.databaseClock?.needsSample() === true) await sampleBeside(transaction)
      return runnerOn(transaction, 'borrowed', options)
    },
    async close() {
      closed = true
      await Promise.all([...lanes.values()].map((each) => each.close()))
      lanes.clear()
    },
  }
}

function openLane(purpose: string, options: ExecutorOptions, silent: Silence): Lane {
  const { engine, prepare, databaseClock, namespace } = options
  const timeoutMs = Math.min(options.timeoutMs, PATIENCE[purpose] ?? options.timeoutMs)
  const hearing: Hearing = { session: null, underWay: 0, heardAt: 0 }
  let opening: Promise<Session> | undefined
  let current: Session | undefined
  // While the connection was gone the machine may have slept, or the server may be another one: the
  // clock is set again once there is a new one.
  let wasLost = false
  let closed = false

  async function session(): Promise<Session> {
    if (closed) throw new ClosedError()
    if (current?.isLost === true) {
      wasLost = true
      current = undefined
      opening = undefined
    }
    const attempt = (opening ??= engine.connect({
      purpose,
      timeoutMs,
      prepare: prepare && PREPARED.has(purpose),
    }))
    // What another call makes of `opening` and `current` meanwhile is not this one's business.
    const connection = await attempt.catch((error: unknown) => {
      if (opening === attempt) opening = undefined
      throw error
    })
    if (current !== connection) silent.connected(hearing, connection)
    current = connection
    if (wasLost) {
      wasLost = false
      databaseClock?.distrust()
    }
    // Again when the process was stopped while it asked: half of such a round trip says nothing.
    for (let tries = 0; tries < MOST_SAMPLES && databaseClock?.needsSample() === true; tries += 1) {
      const asked = traced(connection, purpose, options.origin)
      await silent.heard(hearing, () => takeSample(asked, databaseClock, namespace))
    }
    return connection
  }

  return {
    async ready() {
      await session()
    },
    async run(statement, params) {
      const runner = runnerOn(await session(), purpose, options)
      return silent.heard(hearing, () => runner.run(statement, params))
    },
    async transaction(work) {
      const connection = await session()
      return silent.heard(hearing, () =>
        connection.transaction((transaction) => work(runnerOn(transaction, purpose, options))),
      )
    },
    async close() {
      closed = true
      const connection = await opening?.catch(() => undefined)
      await connection?.close()
    },
  }
}

const MOST_SAMPLES = 3

// A renewal that waited as long as others do, on a connection that is dead without saying so, would
// come after the end of a short lease.
const PATIENCE: Readonly<Record<string, number>> = { renew: 5_000 }

// The lanes that are never idle. Statements of the others are planned each time: a plan that was
// kept since a table was one page long looks an id up in whatever index has it, and goes on walking
// all of that index when the table has grown.
const PREPARED: ReadonlySet<string> = new Set([
  'enqueue',
  'publish',
  'claim',
  'settle',
  'renew',
  'lock',
])

function runnerOn(queryable: Queryable, lane: string, options: ExecutorOptions): Runner {
  const { clock, namespace, origin } = options
  const sender = traced(queryable, lane, origin)
  return {
    async run<Params extends Parameters, Result>(
      statement: Statement<Params, Result>,
      params: Params,
    ): Promise<readonly Result[]> {
      const query = bind(statement, { now: instantText(clock.now()), ...params }, namespace)
      return rowsOf<Result>(await sender.query(query))
    },
  }
}

/** The same, with each statement published by name while somebody listens. */
function traced(queryable: Queryable, lane: string, origin: Origin): Queryable {
  return {
    query(query) {
      if (!statementChannel.start.hasSubscribers) return queryable.query(query)
      const context = { origin, statement: query.name, lane }
      return statementChannel.tracePromise(() => queryable.query(query), context)
    },
  }
}

/** The door where rows come in: the statement's type says what its columns are, and a test describes each against the database. */
function rowsOf<Result>(rows: readonly Row[]): readonly Result[] {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the door itself
  return rows as readonly unknown[] as readonly Result[]
}

const NOTHING: Statement<Record<string, never>, { one: number }> = {
  name: 'nothing',
  text: 'select 1 as one',
  parameters: [],
}
