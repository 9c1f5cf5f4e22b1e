import { open } from 'millrace'
import { serverCpuMs } from '../../bench/server-cpu.ts'
import type { TestServer } from '../support/postgres-server.ts'
import { runSql } from '../support/sql.ts'
import { until } from '../support/until.ts'
import { atLeast, median } from './ratio.ts'
import type { Gate } from './ratio.ts'
import { loadInputs, loadKind } from './load-kind.ts'
import { loadWorker } from './load-process.ts'
import type { LoadProcess } from './load-process.ts'

/**
 * The same backlog drained by one worker process and by several, in turns: more processes must not
 * be slower together than one alone. Where the machine has no more cores than one process and its
 * server keep busy, as fast is all there is to gain.
 */
export interface ScaleOptions {
  readonly jobs: number
  readonly rounds: number
  /** The processes of the larger crew. */
  readonly processes: number
  /** Slots of each process. */
  readonly concurrency: number
  /** Jobs a process that are drained before, not measured: it connects, and its code is compiled. */
  readonly warm: number
  readonly say: (line: string) => void
}

export interface ScaleReport {
  readonly alone: readonly Drain[]
  readonly together: readonly Drain[]
  readonly gates: readonly Gate[]
}

export interface Drain {
  readonly perSecond: number
  /** Processor time a job, in microseconds; null where it cannot be read. */
  readonly nodeMicros: number
  readonly serverMicros: number | null
  /** The share of the jobs that each process did. */
  readonly shares: readonly number[]
}

export async function scale(server: TestServer, options: ScaleOptions): Promise<ScaleReport> {
  const { rounds, processes, say } = options
  const alone: Drain[] = []
  const together: Drain[] = []
  for (let round = 0; round < rounds; round += 1) {
    // Whoever goes first goes second next time.
    for (const count of round % 2 === 0 ? [1, processes] : [processes, 1]) {
      const drained = await drain(server, count, options)
      say(drainText(count, drained))
      if (count === 1) alone.push(drained)
      else together.push(drained)
    }
  }
  const speed = (drains: readonly Drain[]): number =>
    median(drains.map(({ perSecond }) => perSecond))
  const what = `jobs/s of ${processes} worker processes to one`
  return { alone, together, gates: [atLeast(1, what, speed(together) / speed(alone))] }
}

let places = 0

const QUEUE = 'default'

async function drain(server: TestServer, processes: number, options: ScaleOptions): Promise<Drain> {
  places += 1
  const name = `scale_${places}`
  const url = await server.createDatabase(name)
  const crew: LoadProcess[] = []
  const mill = await open(url, { migrate: 'auto', logger: false })
  try {
    for (let count = 0; count < processes; count += 1) {
      crew.push(await loadWorker({ url, concurrency: options.concurrency }))
    }
    const warm = options.warm * processes
    await mill.enqueueMany(loadKind, loadInputs(warm))
    for (const each of crew) each.order({ what: 'go' })
    await untilDone(crew, warm)
    await mill.queues.pause(QUEUE)
    await mill.enqueueMany(loadKind, loadInputs(options.jobs))
    await runSql(url, 'checkpoint')
    const drained = await timed(server, crew, {
      jobs: options.jobs,
      begin: () => mill.queues.resume(QUEUE),
    })
    await Promise.all(crew.map((each) => each.stop()))
    await expectAllCompleted(url, warm + options.jobs)
    return drained
  } finally {
    await Promise.all(crew.map((each) => each[Symbol.asyncDispose]()))
    await mill.close()
    await runSql(server.url(), `drop database ${name} with (force)`)
  }
}

async function timed(
  server: TestServer,
  crew: readonly LoadProcess[],
  { jobs, begin }: { readonly jobs: number; readonly begin: () => Promise<void> },
): Promise<Drain> {
  const earlier = crew.map(({ count }) => count)
  const before = { node: await nodeMs(crew), server: serverCpuMs(server.pid) }
  const began = performance.now()
  await begin()
  await untilDone(
    crew,
    earlier.reduce((sum, count) => sum + count, jobs),
  )
  const seconds = (performance.now() - began) / 1_000
  const after = { node: await nodeMs(crew), server: serverCpuMs(server.pid) }
  return {
    perSecond: jobs / seconds,
    nodeMicros: ((after.node - before.node) * 1_000) / jobs,
    serverMicros:
      before.server === null || after.server === null
        ? null
        : ((after.server - before.server) * 1_000) / jobs,
    shares: crew.map(({ count }, index) => (count - (earlier[index] ?? 0)) / jobs),
  }
}

async function untilDone(crew: readonly LoadProcess[], jobs: number): Promise<void> {
  const done = (): number => crew.reduce((sum, each) => sum + each.count, 0)
  await until(() => done() >= jobs, { ms: 600_000, every: 5 })
}

async function nodeMs(crew: readonly LoadProcess[]): Promise<number> {
  const reports = await Promise.all(crew.map((each) => each.report()))
  return reports.reduce((sum, { cpuMs }) => sum + cpuMs, 0)
}

async function expectAllCompleted(url: string, jobs: number): Promise<void> {
  const [row] = await runSql(
    url,
    `select count(*)::int as completed from millrace.finished where state = 'completed' and run = 1`,
  )
  if (row?.['completed'] === jobs) return
  throw new Error(`${jobs} jobs were drained, ${String(row?.['completed'])} completed in one run`)
}

function drainText(processes: number, drained: Drain): string {
  const { perSecond, nodeMicros, serverMicros, shares } = drained
  const parts = shares.map((share) => `${Math.round(share * 100)} %`).join(', ')
  const cpu = `node ${Math.round(nodeMicros)} µs a job, server ${serverMicros === null ? '?' : Math.round(serverMicros)} µs`
  return `${processes} process${processes === 1 ? '' : 'es'}: ${Math.round(perSecond)} jobs/s, ${cpu}, shares ${parts}`
}
