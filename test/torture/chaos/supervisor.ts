import { setTimeout as pause } from 'node:timers/promises'
import type { TestServer } from '../../support/postgres-server.ts'
import { runSql } from '../../support/sql.ts'
import { until } from '../../support/until.ts'
import type { Fact } from '../history/fact.ts'
import { readFacts } from '../history/log.ts'
import { between, pick, seededRandom } from '../random.ts'
import type { Random } from '../random.ts'
import type { Crew, Strike } from './crew.ts'
import { processFaults } from './process-faults.ts'
import type { Fault } from './process-faults.ts'
import { serverFaults } from './server-faults.ts'
import { trueNow } from './true-time.ts'

/**
 * Two lines of faults at the same time, one on processes and their networks, one on the server, so
 * that they meet in every way; then a while without any, in which everybody must be seen at work
 * again; then the end of all asks, and everything must drain. The seed fixes what happens and in
 * which order; the instants are the machine's.
 */
export interface ChaosOptions {
  readonly seed: number
  readonly forMs: number
  readonly workers: number
  readonly producers: number
  /** Milliseconds between two steps of a producer. */
  readonly everyMs: number
  /** Without those after which a connection is found dead only by its timeout. */
  readonly isShort: boolean
}

export interface Stage {
  readonly server: TestServer
  readonly database: string
  readonly crew: Crew
}

export async function supervise(stage: Stage, options: ChaosOptions): Promise<readonly Strike[]> {
  const { crew } = stage
  const strikes: Strike[] = []
  const under = new Set<Promise<void>>()
  const beside = (work: Promise<void>): void => {
    under.add(work)
    void work.finally(() => under.delete(work))
  }
  for (let count = 0; count < options.workers; count += 1) await crew.start('worker', 0)
  for (let count = 0; count < options.producers; count += 1) await crew.start('producer', 0)

  const { seed, forMs, isShort } = options
  const end = performance.now() + forMs
  const onProcesses = processFaults({ crew, beside })
  const onServer = serverFaults(stage.server, stage.database)
  const line = { end, note: (strike: Strike) => void strikes.push(strike) }
  await Promise.all([
    strikeOn(onProcesses, { ...line, random: seededRandom(seed), isShort, pauses: [300, 2_500] }),
    strikeOn(onServer, {
      ...line,
      random: seededRandom(seed + 1),
      isShort,
      pauses: [1_000, 6_000],
    }),
  ])
  await Promise.all(under)
  return strikes
}

interface Line {
  readonly random: Random
  readonly end: number
  readonly pauses: readonly [number, number]
  readonly isShort: boolean
  readonly note: (strike: Strike) => void
}

async function strikeOn(faults: ReadonlyMap<string, Fault>, line: Line): Promise<void> {
  const { random, end, pauses, isShort } = line
  const names = [...faults.keys()].filter((name) => !isShort || name !== 'blackhole')
  while (performance.now() < end) {
    await pause(between(random, ...pauses))
    const name = pick(
      random,
      names.map((each) => [each, 1] as const),
    )
    const strike = await faults.get(name)?.(random)
    if (strike !== undefined) line.note(strike)
  }
}

// A connection that is dead without saying so is given up after 30 s; one more for each that it hid.
const AT_WORK_WITHIN = 90_000

/** Everybody is seen at work again: whoever hangs is not. One sentence for each who is not. */
export async function stillDead(crew: Crew): Promise<readonly string[]> {
  const since = trueNow()
  let dead: readonly string[] = []
  await until(
    () => {
      dead = [...crew.members].flatMap(({ role, process }) => {
        const told = readFacts(process.log).filter(({ at }) => at >= since)
        const wanted = role === 'worker' ? OF_WORKERS : OF_PRODUCERS
        const missing = wanted.filter((each) => !told.some(each.is))
        return missing.map(({ name }) => `${role} ${process.name} ${name}`)
      })
      return dead.length === 0
    },
    { ms: AT_WORK_WITHIN, every: 500 },
  ).catch(() => undefined)
  return dead.map((each) => `${each} within ${AT_WORK_WITHIN} ms after the last fault`)
}

interface Sign {
  readonly name: string
  readonly is: (fact: Fact) => boolean
}

const OF_WORKERS: readonly Sign[] = [
  { name: 'settled nothing', is: ({ what }) => what === 'settled' },
  {
    name: 'began nothing with a transaction',
    is: (fact) => fact.what === 'began' && fact.isTransactional,
  },
  { name: 'held no lock', is: ({ what }) => what === 'took' },
]
const OF_PRODUCERS: readonly Sign[] = [
  { name: 'was answered nothing', is: ({ what }) => what === 'enqueued' },
]

const DRAIN_WITHIN = 180_000

/** Ends the producers, waits until nothing waits any more, and ends the workers. */
export async function windDown(crew: Crew, url: string): Promise<void> {
  const of = (role: string): Promise<unknown> =>
    Promise.all([...crew.members].filter((each) => each.role === role).map(crew.terminate))
  await of('producer')
  // What is left is said by who looks at the tables.
  await until(async () => Number((await runSql(url, LEFT))[0]?.['left_over']) === 0, {
    ms: DRAIN_WITHIN,
    every: 250,
  }).catch(() => undefined)
  await of('worker')
}

// The jobs of schedules never end: those that came last need not have been run.
const LEFT = `
  select
    (select count(*) from millrace.ready where kind <> 'tick')
    + (select count(*) from millrace.leases where kind <> 'tick')
    + (select count(*) from millrace.outbox_inbox) + (select count(*) from millrace.outbox_heads)
    + (select count(*) from committed c where not exists (
        select from seen s where s.consumer = 'totals' and s.id = c.id))
    + (select count(*) from committed c where not exists (
        select from seen s where s.consumer = 'mailer' and s.id = c.id)) as left_over`
