import { Client } from 'pg'
import { connect } from '../../src/client.ts'
import type { Mill } from '../../src/mill.ts'
import type { Clock } from '../../src/core/clock.ts'
import { engineFor } from '../../src/database/connect.ts'
import { executor } from '../../src/database/executor.ts'
import type { Executor } from '../../src/database/executor.ts'
import { namespace } from '../../src/database/namespace.ts'
import { prepareAsk } from '../../src/jobs/ask.ts'
import { releaseReruns } from '../../src/jobs/rerun-statements.ts'
import { openSettings } from '../../src/open-options.ts'
import { housekeeper } from '../../src/worker/housekeeping.ts'
import type { Act, Which } from './lifecycle-acts.ts'
import type { Ask } from './lifecycle-asks.ts'
import type { Answer } from './lifecycle-follow.ts'
import { KINDS } from './lifecycle-kinds.ts'
import { violationsIn } from './lifecycle-tables.ts'
import { onFailure, workerParts } from './lifecycle-worker.ts'
import type { WorkerParts } from './lifecycle-worker.ts'

/** The real thing: a mill on PostgreSQL, and workers whose parts are moved one by one. */
export interface LifeMill extends AsyncDisposable {
  readonly sql: Client
  /** What the mill's clock shows; a sequence moves it. */
  now: number
  /** Does them at once. */
  perform(acts: readonly Act[]): Promise<readonly Answer[]>
  /** What does not hold of the tables by themselves: the invariants of design.md §2. */
  violations(): Promise<readonly string[]>
  /** Empties the tables, and forgets what the workers knew. */
  begin(now: number): Promise<void>
  close(): Promise<void>
}

/** In a schema of its own, `life`, of an empty database. */
export async function lifeMill(url: string): Promise<LifeMill> {
  const time = { now: 0 }
  // Instants are the sequence's; what waits (a lock that is held) waits in earnest.
  const clock: Clock = {
    now: () => time.now,
    after(ms, callback) {
      const timer = setTimeout(callback, Math.max(0, Math.min(ms, LONGEST_WAIT)))
      return () => clearTimeout(timer)
    },
  }
  const options = { schema: SCHEMA, migrate: 'auto', wake: 'poll', logger: false } as const
  const mill = await connect(await engineFor(url), openSettings(options, false), clock)
  const statements = executor({
    engine: await engineFor(url),
    namespace: namespace(SCHEMA),
    origin: { schema: SCHEMA, prefix: '' },
    clock,
    databaseClock: null,
    timeoutMs: 20_000,
    prepare: true,
  })
  const sql = new Client({ connectionString: url })
  await sql.connect()
  await sql.query(`set search_path to ${SCHEMA}`)
  return theMill({ mill, statements, sql, time })
}

const SCHEMA = 'life'
const LONGEST_WAIT = 100
// Emptied by delete: truncate makes new files, and takes fifty times as long on tables this small.
const TABLES = 'jobs ready leases finished journal carries queues throttles'.split(' ')
const SAID = { by: 'eve', why: 'as drawn' }

interface Parts {
  readonly mill: Mill
  readonly statements: Executor
  readonly sql: Client
  readonly time: { now: number }
}

function theMill({ mill, statements, sql, time }: Parts): LifeMill {
  let workers: WorkerParts
  let keeper: ReturnType<typeof housekeeper>

  async function perform(acts: readonly Act[]): Promise<readonly Answer[]> {
    const answers = await inTime(Promise.all(acts.map((act) => done(act))))
    // Each second, by workers: what waited for the end of a run.
    await statements.lane('maintenance').run(releaseReruns, { hint_until: '-infinity' })
    return answers
  }

  async function done(act: Act): Promise<Answer> {
    switch (act.do) {
      case 'enqueue':
        return enqueue(act.ask)
      case 'claim':
        return workers.claim(act.worker, act.once)
      case 'settle': {
        const asks = act.follow === null ? [] : [await prepared(act.follow)]
        return workers.settle(act.run, act.fate, asks)
      }
      case 'checkpoint':
        return workers.checkpoint(act.run, act.carry)
      case 'renew':
        return workers.renew(act.worker)
      case 'crash':
        workers.crash(act.worker)
        return null
      case 'recover':
        await workers.recover(act.worker)
        return null
      case 'cancel':
        return mill.jobs.cancel(meant(act.which), { ...SAID, force: act.force })
      case 'redrive':
        return mill.jobs.retry(meant(act.which))
      case 'reschedule':
        return mill.jobs.reschedule(meant(act.which), changesOf(act))
      case 'pause':
      case 'resume':
        await mill.queues[act.do](act.queue)
        await workers.learnPauses()
        return null
      case 'housekeep':
        await keeper.sweep()
        return null
      case 'clean up':
        return (await mill.jobs.cleanup({ finishedBefore: act.olderThan })).applied
      case 'wait':
        time.now += act.ms
        return null
    }
  }

  async function enqueue(ask: Ask): Promise<Answer> {
    const { id, outcome } = await mill.enqueue(KINDS[ask.kind], inputOf(ask), optionsOf(ask))
    return { id, outcome }
  }

  function prepared(ask: Ask): ReturnType<typeof prepareAsk> {
    const context = { options: optionsOf(ask), now: time.now, maxPayload: 1_000 }
    return prepareAsk(KINDS[ask.kind], inputOf(ask), context)
  }

  async function begin(now: number): Promise<void> {
    time.now = now
    await sql.query(TABLES.map((table) => `delete from ${table}`).join('; '))
    for (const queue of ['one', 'two']) await mill.queues.resume(queue)
    workers = await workerParts(statements)
    const lane = statements.lane('maintenance')
    keeper = housekeeper({ clock: statements.clock, lane, everyMs: 1_000, onFailure })
  }

  async function close(): Promise<void> {
    await mill.close()
    await statements.close()
    await statements.engine.close()
    await sql.end()
  }

  return {
    sql,
    get now() {
      return time.now
    },
    set now(now) {
      time.now = now
    },
    perform,
    violations: () => violationsIn(sql),
    begin,
    close,
    [Symbol.asyncDispose]: close,
  }
}

// The mill's own clock stands still: what it repeats by that would be repeated for ever.
const LONGEST_ACT = 30_000

async function inTime<T>(work: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const tooLong = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error(`no answer in ${LONGEST_ACT} ms`)), LONGEST_ACT)
  })
  return Promise.race([work, tooLong]).finally(() => clearTimeout(timer))
}

function inputOf({ key, v }: Ask): { key: string; v: number } {
  return { key, v }
}

function optionsOf({ id, queue, priority, leaseMs, delay, expires }: Ask): {
  id: string
  queue: string
  priority: 2 | 5 | 8
  lease: number
  delay: number | undefined
  expires: number | undefined
} {
  return {
    id,
    queue,
    priority: priorityOf(priority),
    lease: leaseMs,
    delay: delay ?? undefined,
    expires: expires ?? undefined,
  }
}

function changesOf({ delay, priority }: Extract<Act, { do: 'reschedule' }>): {
  delay: number | undefined
  priority: 2 | 5 | 8 | undefined
} {
  return {
    delay: delay ?? undefined,
    priority: priority === null ? undefined : priorityOf(priority),
  }
}

function priorityOf(level: number): 2 | 5 | 8 {
  return level === 2 ? 2 : level === 5 ? 5 : 8
}

function meant(which: Which): string | { kind: string } {
  return 'id' in which ? which.id : which
}
