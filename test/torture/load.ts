import { setTimeout as pause } from 'node:timers/promises'
import { open } from 'millrace'
import { Client } from 'pg'
import { until } from '../support/until.ts'
import type { LoadReport, Spread } from './load-messages.ts'
import { loadProducer, loadWorker } from './load-process.ts'
import type { LoadProcess } from './load-process.ts'

/** One producer process and one worker process on a database of their own, and what they do. */
export interface Load extends AsyncDisposable {
  /** Jobs asked for and not done. */
  waiting(): number
  /** Asks for so many jobs a second from now on. */
  offer(perSecond: number): void
  /** What the two do, a second, when as much is asked for as is done. */
  most(ms: number): Promise<number>
  /** The line of the next so many milliseconds. */
  next(ms: number): Promise<LoadLine>
  /** Ends the asks, lets the worker do what is left, and ends it. */
  end(): Promise<void>
}

/** What went on in a stretch of time. */
export interface LoadLine extends Pick<LoadReport, 'claims' | 'starts'> {
  /** Jobs done a second. */
  readonly perSecond: number
  /** At its end. */
  readonly waiting: number
  /** Rows that are deleted and not yet removed, as far as the server has counted. */
  readonly deadReady: number
  readonly deadLeases: number
}

const HAND_ON_EVERY = 20
const END_WITHIN = 120_000

/** On an empty database; the worker is at work. */
export async function startLoad(
  url: string,
  { concurrency }: { readonly concurrency: number },
): Promise<Load> {
  await (await open(url, { migrate: 'auto', logger: false })).close()
  const sql = new Client({ connectionString: url })
  await sql.connect()
  const worker = await loadWorker({ url, concurrency })
  const producer = await loadProducer({ url })
  worker.order({ what: 'go' })
  // Counts are told in turns: what is done may be known before that it was asked for.
  const waiting = (): number => Math.max(0, producer.count - worker.count)
  return {
    waiting,
    offer: (perSecond) => producer.order({ what: 'rate', perSecond }),
    most: (ms) => mostPerSecond(worker, producer, ms),
    async next(ms) {
      await worker.report()
      const perSecond = await speedOf(worker, ms)
      const { claims, starts } = await worker.report()
      return { perSecond, claims, starts, waiting: waiting(), ...(await deadRows(sql)) }
    },
    async end() {
      await producer.stop()
      await until(() => worker.count >= producer.count, { ms: END_WITHIN })
      await worker.stop()
    },
    async [Symbol.asyncDispose]() {
      await Promise.all([worker[Symbol.asyncDispose](), producer[Symbol.asyncDispose](), sql.end()])
    },
  }
}

export function lineText(name: string, line: LoadLine): string {
  const { perSecond, claims, starts, waiting, deadReady, deadLeases } = line
  return [
    `${name}: ${Math.round(perSecond)} jobs/s`,
    `claim ${spreadText(claims)}`,
    `start ${spreadText(starts)}`,
    `${waiting} waiting`,
    `dead ${deadReady} ready, ${deadLeases} leases`,
  ].join(' · ')
}

function spreadText({ p50, p99 }: Spread): string {
  return `${p50.toFixed(1)} / ${p99.toFixed(1)} ms`
}

async function mostPerSecond(
  worker: LoadProcess,
  producer: LoadProcess,
  ms: number,
): Promise<number> {
  producer.order({ what: 'rate', perSecond: null })
  const handing = setInterval(
    () => producer.order({ what: 'done', count: worker.count }),
    HAND_ON_EVERY,
  )
  try {
    await pause(ms / 3)
    return await speedOf(worker, ms)
  } finally {
    clearInterval(handing)
  }
}

async function speedOf(worker: LoadProcess, ms: number): Promise<number> {
  const [count, at] = [worker.count, performance.now()]
  await pause(ms)
  return ((worker.count - count) / (performance.now() - at)) * 1_000
}

async function deadRows(sql: Client): Promise<Pick<LoadLine, 'deadReady' | 'deadLeases'>> {
  const { rows } = await sql.query<{ relname: string; dead: number }>(
    `select relname, n_dead_tup::float8 as dead
     from pg_stat_user_tables
     where schemaname = 'millrace' and relname in ('ready', 'leases')`,
  )
  const dead = (table: string): number => rows.find(({ relname }) => relname === table)?.dead ?? 0
  return { deadReady: dead('ready'), deadLeases: dead('leases') }
}
