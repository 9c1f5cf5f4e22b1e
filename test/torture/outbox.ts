import { fork } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { open } from 'millrace'
import { startServer } from '../support/postgres-server.ts'
import { runSql } from '../support/sql.ts'
import { until } from '../support/until.ts'
import { evidenceOf } from './outbox-evidence.ts'
import type { OutboxEvidence } from './outbox-evidence.ts'
import { BACKOFF, LEASE_MS, senders, TABLES } from './outbox-senders.ts'
import { between, seededRandom } from './random.ts'
import type { Random } from './random.ts'

/**
 * An outbox under senders whose transactions commit in any order and workers that are killed at
 * random (B1). At the end every committed message was delivered, or is dead as it was told to be; of
 * two of a key the one whose commit was over before the other's began came first; and no two of a key
 * were under way at once.
 */
export interface OutboxStorm {
  readonly forMs: number
  readonly seed: number
  readonly senders: number
  readonly keys: number
  readonly workers: number
  /** Milliseconds between two kills of a worker, at most. */
  readonly killWithin: number
}

export interface OutboxReport extends OutboxEvidence {
  readonly kills: number
}

const PROGRAM = fileURLToPath(new URL('outbox-worker.mjs', import.meta.url))
const DRAIN_WITHIN = 120_000

/** `npm run torture -- outbox`, on a server of its own. */
export async function outbox(options: OutboxStorm): Promise<OutboxReport> {
  const server = await startServer({ settings: { max_connections: '200' } })
  try {
    return await stormOutbox(await server.createDatabase('torture'), options)
  } finally {
    await server.close()
  }
}

/** On an empty database. */
export async function stormOutbox(url: string, options: OutboxStorm): Promise<OutboxReport> {
  await runSql(url, TABLES)
  const mill = await open(url, { migrate: 'auto', logger: false })
  const over = new AbortController()
  const random = seededRandom(options.seed)
  try {
    const lines = Array.from({ length: options.workers }, () =>
      line(url, { random, killWithin: options.killWithin, signal: over.signal }),
    )
    const { senders: count, keys, seed } = options
    const sending = await senders(url, mill, { count, keys, seed })
    await pause(options.forMs)
    await sending.stop()
    over.abort()
    const kills = await Promise.all(lines)
    return { ...(await evidenceOf(url)), kills: kills.reduce((sum, each) => sum + each, 0) }
  } finally {
    over.abort()
    await mill.close()
  }
}

interface Line {
  readonly random: Random
  readonly killWithin: number
  readonly signal: AbortSignal
}

/** One worker process after another, each killed after a while; the last drains and is let end. */
async function line(url: string, { random, killWithin, signal }: Line): Promise<number> {
  let kills = 0
  for (;;) {
    const { child, exit } = await start(url)
    const ms = between(random, 0, killWithin)
    await pause(ms, undefined, { signal }).catch(() => undefined)
    if (signal.aborted) {
      await drained(url).catch(() => undefined)
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
): Promise<{ readonly child: ChildProcess; readonly exit: Promise<unknown> }> {
  const given = JSON.stringify({ url, lease: LEASE_MS, backoff: BACKOFF })
  const child = fork(PROGRAM, [given], { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] })
  let isReady = false
  child.on('message', () => {
    isReady = true
  })
  const exit = once(child, 'exit')
  await until(() => isReady || child.exitCode !== null, { ms: 60_000 })
  return { child, exit }
}

/** Everything has ended, and the last turns were passed on. */
async function drained(url: string): Promise<void> {
  await until(
    async () => {
      const [row] = await runSql(
        url,
        `select (select count(*) from millrace.ready) + (select count(*) from millrace.leases)
           + (select count(*) from millrace.outbox_inbox) + (select count(*) from millrace.outbox_heads) as left_over`,
      )
      return Number(row?.['left_over']) === 0
    },
    { ms: DRAIN_WITHIN, every: 200 },
  )
}
