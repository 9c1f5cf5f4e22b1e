import { setTimeout as pause } from 'node:timers/promises'
import type { TestServer } from '../support/postgres-server.ts'
import { runSql } from '../support/sql.ts'
import type { Processes } from './processes.ts'
import type { TortureProcess } from './process.ts'
import { between, pick, seededRandom } from './random.ts'
import type { Random } from './random.ts'

/**
 * Jobs at a steady rate, and every second or two something happens to somebody: a worker is
 * killed, asked to end or stopped past its leases, connections are cut, the server crashes, the
 * producer is killed in the middle of its asks. The seed fixes what happens and in which order; the
 * instants are the machine's.
 */
export interface StormOptions {
  readonly seed: number
  readonly forMs: number
  readonly workers: number
  readonly perSecond: number
  readonly leaseMs: number
}

/** Numbers of one producer's tasks; the next one begins behind them. */
const RANGE = 10_000_000

export async function storm(
  server: TestServer,
  processes: Processes,
  options: StormOptions,
): Promise<void> {
  const random = seededRandom(options.seed)
  const production = producing(processes, options)
  for (let count = 0; count < options.workers; count += 1) await processes.startWorker()
  await production.start()

  const blows = blowsOn({ server, processes, production, random, leaseMs: options.leaseMs })
  const end = performance.now() + options.forMs
  while (performance.now() < end) {
    await pause(between(random, 300, 2_500))
    await pick(random, blows)()
  }
  await production.stop()
}

interface Production {
  start(): Promise<void>
  stop(): Promise<void>
  kill(): Promise<void>
}

function producing(processes: Processes, options: StormOptions): Production {
  const { seed, perSecond, leaseMs } = options
  let producer: TortureProcess | undefined
  let started = 0
  return {
    async start() {
      const first = started * RANGE
      const own = { seed: seed + started, first, jobs: null, perSecond, leaseMs }
      started += 1
      producer = await processes.startProducer({ ...own, tasks: 'any' })
    },
    async stop() {
      await producer?.terminate()
    },
    async kill() {
      if (producer !== undefined) await processes.killProducer(producer)
    },
  }
}

interface Victims {
  readonly server: TestServer
  readonly processes: Processes
  readonly production: Production
  readonly random: Random
  readonly leaseMs: number
}

type Blow = () => Promise<void>

function blowsOn(victims: Victims): readonly (readonly [Blow, number])[] {
  const { server, processes, production, random, leaseMs } = victims

  function anyWorker(): TortureProcess {
    return pick(
      random,
      [...processes.workers].map((worker) => [worker, 1] as const),
    )
  }

  async function kill(): Promise<void> {
    await processes.killWorker(anyWorker())
    await processes.startWorker()
  }

  async function terminate(): Promise<void> {
    await processes.terminateWorker(anyWorker())
    await processes.startWorker()
  }

  async function freeze(): Promise<void> {
    await processes.freezeWorker(anyWorker(), () =>
      pause(between(random, leaseMs / 2, leaseMs * 2)),
    )
  }

  async function disconnect(): Promise<void> {
    const share = random()
    await processes.interrupt('disconnect', () => cutConnections(processes.url, random, share))
  }

  async function crash(): Promise<void> {
    await processes.interrupt('crash', () => server.restart('immediate'))
  }

  async function killProducer(): Promise<void> {
    await production.kill()
    await production.start()
  }

  return [
    [kill, 3],
    [terminate, 2],
    [freeze, 3],
    [disconnect, 4],
    [crash, 1],
    [killProducer, 1],
  ]
}

/** Ends that share of the package's connections on the server, whatever they are doing. */
async function cutConnections(url: string, random: Random, share: number): Promise<void> {
  const rows = await runSql(
    url,
    `select pid from pg_stat_activity
     where datname = current_database() and application_name like 'millrace %'
     order by pid`,
  )
  const pids = rows.map(({ pid }) => Number(pid)).filter(() => random() < share)
  await runSql(url, 'select pg_terminate_backend(pid) from unnest($1::int[]) as pid', [pids])
}
