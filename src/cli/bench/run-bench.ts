import { open, shutdownSignal } from '../../index.ts'
import { DONE, NO } from '../exit-code.ts'
import type { ExitCode } from '../exit-code.ts'
import type { Output } from '../output.ts'
import { demandServer, serverUrl } from '../server-url.ts'
import { drain } from './drain-phase.ts'
import { enqueueByCallers, enqueueInBulk, enqueueOneByOne } from './enqueue-phases.ts'
import type { Bench } from './enqueue-phases.ts'
import { sizesOf } from './figures.ts'
import type { Figures } from './figures.ts'
import { measureLatency } from './latency-phase.ts'
import { makeSchema, onServer } from './own-schema.ts'
import { reportDocument, reportText } from './report.ts'
import { measureServer } from './server-times.ts'

export interface BenchOptions {
  readonly database: string
  readonly jobs: number
  readonly concurrency: number
}

/**
 * `millrace bench`: what a server of the user's does for jobs whose handlers do nothing, through the
 * public API. All of it happens in a schema of its own, which is dropped however it ends: at the end,
 * on an error, and when it is interrupted.
 */
export async function runBench(options: BenchOptions, output: Output): Promise<ExitCode> {
  const url = serverUrl(options.database, CURE)
  url.password = ''
  const signal = shutdownSignal()
  await demandServer(options.database)
  await using schema = await makeSchema(options.database)
  output.remark(`measuring on ${url.href}, in the schema ${schema.name} of its own`)
  const measuring = { ...options, schema: schema.name, signal, output }
  const figures = await measure(measuring).catch((error: unknown) => {
    // Whatever it was that an interruption broke off; what fails when the schema is dropped is told.
    if (!signal.aborted) throw error
    return null
  })
  if (figures === null) {
    output.document(null, () => 'stopped before the end')
    return NO
  }
  const report = { database: url.href, schema: schema.name, figures }
  output.document(reportDocument(report), () => reportText(report))
  return DONE
}

const CURE = 'a bench works on a server: postgres://user@host/name'

interface Measuring extends BenchOptions {
  readonly schema: string
  readonly signal: AbortSignal
  readonly output: Output
}

async function measure(measuring: Measuring): Promise<Figures> {
  const { database, schema } = measuring
  const times = await onServer(database, (client) => measureServer(client, schema))
  return { ...times, ...(await measurePhases(measuring)) }
}

async function measurePhases(measuring: Measuring): Promise<Pick<Figures, 'phases' | 'latency'>> {
  const { database, schema, jobs, concurrency, signal, output } = measuring
  await using mill = await open(database, { schema, migrate: 'auto' })
  const bench: Bench = { mill, signal }
  const sizes = sizesOf(jobs)
  output.remark('  enqueuing')
  const enqueued = [
    await enqueueOneByOne(bench, sizes.oneByOne),
    await enqueueByCallers(bench, sizes.callers),
    await enqueueInBulk(bench, sizes.bulk),
  ]
  const waiting = enqueued.reduce((sum, phase) => sum + phase.jobs, 0)
  output.remark('  draining')
  const drained = [
    await drain(bench, { name: 'drain-default', title: 'drain, default worker', jobs: waiting }),
  ]
  await enqueueInBulk(bench, jobs)
  const title = `drain, ${concurrency} runs at once`
  drained.push(await drain(bench, { name: 'drain', title, jobs }, { concurrency }))
  output.remark('  waiting for single jobs')
  return { phases: [...enqueued, ...drained], latency: await measureLatency(bench, sizes.latency) }
}
