import type { Lane } from '../database/executor.ts'
import { repeat } from '../database/repeat.ts'
import { InvalidOptionError } from '../errors.ts'
import { readJournal } from '../jobs/inspect.ts'
import { resultText } from './run-values.ts'
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
  readonly holds: TransactionServices['holds']
  readonly progress: ProgressWriter
}

// For how long a checkpoint outlasts a database that is away.
const OUTLAST = 10_000

/** What the runs of one worker may ask of it. */
export function runServices(options: ServicesOptions): RunServices {
  const { worker, context, pool, holds, progress } = options
  const { executor, producerOn, writeAsks, prepareAsk, hintUntil } = context
  const transactions: TransactionServices = {
    worker,
    executor,
    pool,
    holds,
    producerOn,
    writeAsks,
    hintUntil,
  }
  const { clock } = executor
  const read = (): Lane => executor.lane('read')
  return {
    now: clock.now,
    history: (id, limit) => readJournal(read(), id, limit),
    async saveCarry({ id, run }, carry) {
      const end = clock.now() + OUTLAST
      // The same text again changes nothing, so it is repeated without a look.
      const saved = await repeat({ clock, until: () => end }, () =>
        executor.lane('carry').run(saveCarry, { id, run, worker, carry }),
      )
      return saved.length > 0
    },
    progress: progress.say,
    prepareAsk,
    transact(run, [first, ...rest]) {
      // A database may be a function, too: it is known by what comes after it.
      if (rest.length === 0 && isWork(first)) return ownTransaction(run, first, transactions)
      const [second] = rest
      if (isWork(second)) return foreignTransaction(run, { db: first, fn: second }, transactions)
      throw new InvalidOptionError('transaction', second, 'pass a function of the transaction.')
    },
    resultText,
  }
}

function isWork(value: unknown): value is (tx: unknown) => Promise<unknown> {
  return typeof value === 'function'
}
