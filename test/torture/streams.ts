import { fork } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { open } from 'millrace'
import { Client } from 'pg'
import { startServer } from '../support/postgres-server.ts'
import { runSql } from '../support/sql.ts'
import { until } from '../support/until.ts'
import { between, seededRandom } from './random.ts'
import type { Random } from './random.ts'
import { publishers, TABLES } from './stream-publishers.ts'
import { evidenceOf } from './stream-evidence.ts'
import type { StreamEvidence } from './stream-evidence.ts'

/**
 * Streams under publishers whose transactions commit in any order (T2–T5): ten of them, an idle
 * transaction that holds a transaction id throughout, four consumers of different names and two of the
 * same, killed at random. At the end each has seen every committed event, in the order of the
 * offsets; those that consume in a transaction exactly once. The negative control is a reader of a
 * serial column in the same transactions, by "greater than the last".
 */
export interface StreamStorm {
  readonly forMs: number
  readonly seed: number
  readonly publishers: number
  /** Milliseconds between two kills, at most. */
  readonly killWithin: number
}

export interface StreamReport extends StreamEvidence {
  readonly kills: number
  readonly naiveLost: number
  readonly naiveOf: number
}

const PROGRAM = fileURLToPath(new URL('stream-consumer.mjs', import.meta.url))
const LEASE_MS = 1_000
const CATCH_UP_WITHIN = 120_000
const CONSUMERS = [
  { as: 'totals', how: 'consume' },
  { as: 'search', how: 'consume' },
  { as: 'mailer', how: 'subscribe' },
  { as: 'audit', how: 'subscribe' },
  { as: 'twin', how: 'consume' },
  { as: 'twin', how: 'consume' },
] as const

// The two of one name are one consumer.
const FOLLOWERS = [...new Map(CONSUMERS.map(({ as, how }) => [as, how]))].map(([as, how]) => {
  return { as, isOnce: how === 'consume' }
})

/** `npm run torture -- streams`, on a server of its own. */
export async function streams(options: StreamStorm): Promise<StreamReport> {
  const server = await startServer({ settings: { max_connections: '200' } })
  try {
    return await stormStreams(await server.createDatabase('torture'), options)
  } finally {
    await server.close()
  }
}

/** On an empty database. */
export async function stormStreams(url: string, options: StreamStorm): Promise<StreamReport> {
  await runSql(url, TABLES)
  const idle = new Client({ connectionString: url })
  await idle.connect()
  await idle.query('begin')
  await idle.query('select pg_current_xact_id()')
  const mill = await open(url, { migrate: 'auto', logger: false })
  const over = new AbortController()
  const random = seededRandom(options.seed)
  try {
    const naive = readNaively(url, over.signal)
    const lines = CONSUMERS.map((each) => line(url, each, { random, options, signal: over.signal }))
    const publishing = await publishers(url, mill, {
      count: options.publishers,
      seed: options.seed,
    })
    await pause(options.forMs)
    await publishing.stop()
    over.abort()
    const kills = await Promise.all(lines)
    const seen = await naive
    const serial = await runSql(url, 'select id from serial_events')
    return {
      ...(await evidenceOf(url, FOLLOWERS)),
      kills: kills.reduce((sum, each) => sum + each, 0),
      naiveLost: serial.filter(({ id }) => !seen.has(id)).length,
      naiveOf: serial.length,
    }
  } finally {
    over.abort()
    await mill.close()
    await idle.end()
  }
}

type Consumer = (typeof CONSUMERS)[number]

interface Line {
  readonly random: Random
  readonly options: StreamStorm
  readonly signal: AbortSignal
}

/** One consumer process after another, each killed after a while; the last catches up and is let end. */
async function line(
  url: string,
  consumer: Consumer,
  { random, options, signal }: Line,
): Promise<number> {
  let kills = 0
  for (;;) {
    const { child, exit } = await start(url, consumer)
    await pause(between(random, 0, options.killWithin), undefined, { signal }).catch(
      () => undefined,
    )
    if (signal.aborted) {
      await caughtUp(url, consumer.as).catch(() => undefined)
      child.kill('SIGTERM')
      await exit
      return kills
    }
    child.kill('SIGKILL')
    await exit
    kills += 1
  }
}

async function start(
  url: string,
  { as, how }: Consumer,
): Promise<{ readonly child: ChildProcess; readonly exit: Promise<unknown> }> {
  const given = JSON.stringify({ url, as, how, lease: LEASE_MS })
  const child = fork(PROGRAM, [given], { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] })
  let isReady = false
  child.on('message', () => {
    isReady = true
  })
  const exit = once(child, 'exit')
  await until(() => isReady || child.exitCode !== null, { ms: 60_000 })
  return { child, exit }
}

async function caughtUp(url: string, as: string): Promise<void> {
  await until(
    async () => {
      const [row] = await runSql(
        url,
        `select (select count(*) from committed)::int as committed,
           (select count(distinct (stream, event_offset)) from seen where consumer = $1)::int as seen`,
        [as],
      )
      return row?.['seen'] === row?.['committed']
    },
    { ms: CATCH_UP_WITHIN, every: 200 },
  )
}

/** Whoever reads on behind the largest number it saw. */
async function readNaively(url: string, signal: AbortSignal): Promise<ReadonlySet<unknown>> {
  const session = new Client({ connectionString: url })
  await session.connect()
  const seen = new Set<unknown>()
  let after = '0'
  let isOver = false
  while (!isOver) {
    isOver = signal.aborted
    const { rows } = await session.query<{ n: string; id: string }>(
      'select n, id from serial_events where n > $1 order by n',
      [after],
    )
    for (const { id } of rows) seen.add(id)
    after = rows.at(-1)?.n ?? after
    await pause(2)
  }
  await session.end()
  return seen
}
