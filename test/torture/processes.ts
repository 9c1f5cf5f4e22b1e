import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { migrations } from 'millrace'
import { runSql } from '../support/sql.ts'
import { until } from '../support/until.ts'
import { jobsOf, recordsOf } from './evidence.ts'
import type { Interruption, Testimony } from './evidence.ts'
import { readFacts } from './history/log.ts'
import { committedOrders, createOrders, effectFacts } from './orders.ts'
import type { ProducerSettings } from './producer-process.ts'
import { startProcess } from './process.ts'
import type { ProgramSettings, TortureProcess } from './process.ts'
import { readSaid } from './said.ts'
import { FAILURE_LIMIT } from './task.ts'
import { asksOf, executionsOf, strikeFacts, tableFacts } from './testimony.ts'
import type { WorkerSettings } from './worker-process.ts'

/**
 * Workers and producers as processes of their own on one database, what was done to them, and all
 * that is known of it afterwards. What to do to them, and when, is the scenario's.
 */
export interface Processes {
  readonly url: string
  /** The workers that live. */
  readonly workers: ReadonlySet<TortureProcess>
  /** `folder`: another version of the package, see `startProcess`. */
  startWorker(folder?: string): Promise<TortureProcess>
  /** SIGKILL, in the midst of whatever it does. */
  killWorker(worker: TortureProcess): Promise<void>
  /** SIGTERM: it lets go of its runs and ends. */
  terminateWorker(worker: TortureProcess): Promise<void>
  /** Stops the process for a while, as a host does that was paused. */
  freezeWorker(worker: TortureProcess, whileDoing: () => Promise<void>): Promise<void>
  startProducer(settings: Production, folder?: string): Promise<TortureProcess>
  killProducer(producer: TortureProcess): Promise<void>
  /** Notes what the scenario did by itself, to the server for instance. */
  interrupt(what: Interruption['what'], work: () => Promise<void>): Promise<void>
  /** Resolves when no job waits or runs any more. */
  untilDrained(ms: number): Promise<void>
  /** Ends the workers and gives what is known. */
  evidence(): Promise<Testimony>
  /** What the processes warned of, and the errors that they told: for scenarios in which there is nothing to tell. */
  said(): readonly string[]
  /** Ends what still lives and removes the logs. */
  close(): Promise<void>
}

type Production = Omit<ProducerSettings, keyof ProgramSettings>

/** On an empty database. */
export async function processes(
  url: string,
  options: { readonly concurrency: number },
): Promise<Processes> {
  const tables = migrations(url)
  try {
    await tables.up()
  } finally {
    await tables.close()
  }
  await createOrders(url)
  return processesOn(url, options.concurrency)
}

/** On a database with the tables of whatever version, and with those of `createOrders`. */
export function processesOn(url: string, concurrency: number): Processes {
  const directory = mkdtempSync(join(tmpdir(), 'millrace-torture-'))
  const workers = new Set<TortureProcess>()
  const producers = new Set<TortureProcess>()
  const logs: string[] = []
  const interruptions: Interruption[] = []

  function nextLog(): string {
    const log = join(directory, `${logs.length}.log`)
    logs.push(log)
    return log
  }

  async function interrupted(
    about: Pick<Interruption, 'what' | 'worker'>,
    work: () => Promise<void>,
  ): Promise<void> {
    const from = Date.now()
    await work()
    const to = about.what === 'kill' ? Number.POSITIVE_INFINITY : Date.now()
    interruptions.push({ ...about, from, to })
  }

  async function startWorker(folder?: string): Promise<TortureProcess> {
    const settings: WorkerSettings = { url, log: nextLog(), concurrency }
    const worker = await startProcess('worker-process.ts', settings, { folder })
    workers.add(worker)
    return worker
  }

  async function terminateWorker(worker: TortureProcess): Promise<void> {
    workers.delete(worker)
    await interrupted({ what: 'terminate', worker: worker.name }, worker.terminate)
  }

  async function close(): Promise<void> {
    await Promise.all([...workers, ...producers].map((each) => each.kill()))
    rmSync(directory, { recursive: true, force: true })
  }

  return {
    url,
    workers,
    startWorker,
    terminateWorker,
    async killWorker(worker) {
      workers.delete(worker)
      await interrupted({ what: 'kill', worker: worker.name }, worker.kill)
    },
    async freezeWorker(worker, whileDoing) {
      await interrupted({ what: 'freeze', worker: worker.name }, async () => {
        worker.freeze()
        await whileDoing().finally(worker.thaw)
      })
    },
    async startProducer(settings, folder) {
      const own = { url, log: nextLog(), ...settings }
      const producer = await startProcess('producer-process.ts', own, { folder })
      producers.add(producer)
      return producer
    },
    async killProducer(producer) {
      producers.delete(producer)
      await interrupted({ what: 'kill-producer', worker: producer.name }, producer.kill)
    },
    interrupt: (what, work) => interrupted({ what, worker: null }, work),
    untilDrained: (ms) => untilDrained(url, ms),
    async evidence() {
      await Promise.all([...workers].map(terminateWorker))
      const [jobs, records] = [await jobsOf(url), await recordsOf(url)]
      const told = logs.flatMap(readFacts)
      return {
        asks: asksOf(told, await committedOrders(url)),
        jobs,
        records,
        executions: executionsOf(told),
        interruptions,
        failureLimit: FAILURE_LIMIT,
        facts: [
          ...told,
          ...strikeFacts(interruptions),
          ...tableFacts(jobs, records),
          ...(await effectFacts(url)),
        ],
      }
    },
    said: () => logs.flatMap(readSaid),
    close,
  }
}

async function untilDrained(url: string, ms: number): Promise<void> {
  await until(
    async () => {
      const [row] = await runSql(
        url,
        `select (select count(*) from millrace.ready) + (select count(*) from millrace.leases) as left_over`,
      )
      return Number(row?.['left_over']) === 0
    },
    { ms, every: 200 },
  )
}
