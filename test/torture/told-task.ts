import type { Run } from 'millrace'
import type { FactLog } from './history/log.ts'
import { perform } from './task.ts'
import type { Task } from './task.ts'

/** One run of a task, told at its beginning and at its end. */
export interface Call {
  readonly input: Task
  readonly run: Run
  readonly tell: FactLog
  readonly worker: string
}

export async function doTask({ input, run, tell, worker }: Call): Promise<void> {
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
