import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { defineJob } from 'millrace'
import type { JobEvent, JobKind, Mill, Run } from 'millrace'
import type { About } from './history/fact.ts'
import { perform, task } from './task.ts'
import type { Task } from './task.ts'

interface PulseTypes {
  name: 'pulse'
  input: undefined
  parsed: undefined
  carry: undefined
  result: unknown
}

export const pulse: JobKind<PulseTypes> = defineJob('pulse')

const CONCURRENCY = 20

/** A worker of tasks and pulses in this process, that tells of every run. */
export async function failoverWorker(
  mill: Mill,
  tellAs: (process: string) => (about: About) => void,
): Promise<{ stop(): Promise<void> }> {
  const worker = mill.worker({ concurrency: CONCURRENCY })
  const tell = tellAs(worker.id)
  const onEvent = (message: unknown): void => {
    if (!isJobEvent(message) || message.worker !== worker.id || !SETTLED.has(message.event)) return
    const { id: job, run, event: outcome } = message
    tell({ what: 'settled', job, run, worker: worker.id, outcome, applied: true })
  }
  tell({ what: 'joined', worker: worker.id, concurrency: CONCURRENCY, queues: {}, kinds: {} })
  subscribe('millrace:job', onEvent)
  worker.handle(pulse, () => undefined)
  worker.handle(task, (input, run) => handle({ input, run, worker: worker.id, tell }))
  await worker.start()
  return {
    async stop() {
      await worker.stop()
      unsubscribe('millrace:job', onEvent)
    },
  }
}

interface Call {
  readonly input: Task
  readonly run: Run
  readonly worker: string
  readonly tell: (about: About) => void
}

async function handle({ input, run, worker, tell }: Call): Promise<void> {
  const own = { job: run.id, run: run.number }
  const { isTransactional } = input
  tell({ what: 'began', ...own, worker, kind: run.kind, queue: run.queue, isTransactional })
  run.signal.addEventListener('abort', () => tell({ what: 'told', ...own }), { once: true })
  try {
    await perform(input, run)
  } finally {
    tell({ what: 'returned', ...own })
  }
  if (!isTransactional) return
  await run.transaction(async (tx) => {
    await tx.query(INSERT, [own.job, own.run, worker])
  })
}

const INSERT = 'insert into effects (job, run, worker) values ($1, $2, $3)'

const SETTLED: ReadonlySet<string> = new Set(['completed', 'retried', 'released', 'dead'])

function isJobEvent(message: unknown): message is JobEvent {
  return typeof message === 'object' && message !== null && 'event' in message
}
