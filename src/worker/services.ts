import type { Lane } from '../database/executor.ts'
import { InvalidOptionError } from '../errors.ts'
import { readJournal } from '../jobs/inspect.ts'
import { resultText } from './execute.ts'
import { saveCarry } from './lease-statements.ts'
import type { ProgressWriter } from './progress.ts'
import type { RunServices } from './run-for.ts'
import { foreignTransaction, ownTransaction } from './run-transaction.ts'
import type { TransactionServices } from './run-transaction.ts'
import type { WorkerContext } from './working.ts'

export interface ServicesOptions {
  readonly worker: string
  readonly context: WorkerContext
  readonly pool: TransactionServices['pool']
  readonly progress: ProgressWriter
}

/** What the runs of one worker may ask of it. */
export function runServices({ worker, context, pool, progress }: ServicesOptions): RunServices {
  const { executor, producerOn, writeAsks, prepareAsk, hintUntil } = context
  const transactions: TransactionServices = {
    worker,
    executor,
    pool,
    producerOn,
    writeAsks,
    hintUntil,
  }
  const read = (): Lane => executor.lane('read')
  return {
    now: executor.clock.now,
    history: (id, limit) => readJournal(read(), id, limit),
    async saveCarry({ id, run }, carry) {
      const saved = await executor.lane('carry').run(saveCarry, { id, run, worker, carry })
      return saved.length > 0
    },
    progress: progress.say,
    prepareAsk,
    transact(run, [first, second]) {
      if (isWork(first)) return ownTransaction(run, first, transactions)
      if (isWork(second)) return foreignTransaction(run, { db: first, fn: second }, transactions)
      throw new InvalidOptionError('transaction', second, 'pass a function of the transaction')
    },
    resultText,
  }
}

function isWork(value: unknown): value is (tx: unknown) => Promise<unknown> {
  return typeof value === 'function'
}
