import { subscribe } from 'node:diagnostics_channel'
import { open, shutdownSignal } from 'millrace'
import type { JobEvent, Run } from 'millrace'
import { factLog } from './history/log.ts'
import type { FactLog } from './history/log.ts'
import type { ProgramSettings } from './process.ts'
import { saidLog } from './said.ts'
import { perform, task } from './task.ts'
import type { Task } from './task.ts'

/** A worker that runs tasks until SIGTERM, and logs every run at its beginning and at its end. */
export interface WorkerSettings extends ProgramSettings {
  readonly concurrency: number
}

async function work({ url, log, concurrency }: WorkerSettings): Promise<void> {
  const mill = await open(url, { logger: saidLog(log) })
  const worker = mill.worker({ concurrency })
  const tell = factLog(log, worker.id)
  tell({ what: 'joined', worker: worker.id, concurrency, queues: {}, kinds: {} })
  tellSettlements(tell, worker.id)
  worker.handle(task, (input, run) => handle({ input, run, tell, worker: worker.id }))
  process.send?.(worker.id)
  await worker.run({ signal: shutdownSignal() })
  await mill.close()
}

interface Call {
  readonly input: Task
  readonly run: Run
  readonly tell: FactLog
  readonly worker: string
}

async function handle({ input, run, tell, worker }: Call): Promise<void> {
  const own = { job: run.id, run: run.number }
  const { isTransactional } = input
  tell({ what: 'began', ...own, worker, kind: run.kind, queue: run.queue, isTransactional })
  run.signal.addEventListener('abort', () => tell({ what: 'told', ...own }), { once: true })
  try {
    await perform(input, run)
  } finally {
    // Before the transaction: whoever is killed behind its commit could not tell any more.
    tell({ what: 'returned', ...own })
  }
  if (!isTransactional) return
  await run.transaction(async (tx) => {
    await tx.query(INSERT, [own.job, own.run, worker])
  })
}

const INSERT = 'insert into effects (job, run, worker) values ($1, $2, $3)'

/** Events are told once a settlement is known to have applied. */
function tellSettlements(tell: FactLog, worker: string): void {
  subscribe('millrace:job', (message) => {
    if (!isJobEvent(message) || message.worker !== worker || !SETTLED.has(message.event)) return
    const { id: job, run, event: outcome } = message
    tell({ what: 'settled', job, run, worker, outcome, applied: true })
  })
}

const SETTLED: ReadonlySet<string> = new Set(['completed', 'retried', 'released', 'dead'])

function isJobEvent(message: unknown): message is JobEvent {
  return typeof message === 'object' && message !== null && 'event' in message
}

// Without its parent it has no reason to be; and only without the channel it can end.
process.on('disconnect', () => process.exit())
const settings: WorkerSettings = JSON.parse(process.argv[2] ?? '')
await work(settings)
process.disconnect()
