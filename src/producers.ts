import type { Queryable } from './database/database.ts'
import type { Executor, Runner } from './database/executor.ts'
import { inTurn } from './database/turns-inside.ts'
import { notifier } from './channels/notify.ts'
import type { MessageProducer } from './core/message-producer.ts'
import { prepareAsk } from './jobs/ask.ts'
import type { Ask } from './jobs/ask.ts'
import type { Enqueuer } from './jobs/enqueue.ts'
import { producer } from './jobs/producer.ts'
import type { Destination, JobProducer, Producer } from './jobs/producer.ts'
import { sender } from './outbox/send.ts'
import type { QueueDecisions } from './queues/decisions.ts'
import type { StreamService } from './streams/service.ts'
import type { WorkerContext } from './worker/working.ts'

/**
 * The verbs that make sense in a transaction too (`Producer`), put together from the domains: on the
 * client's own connections, on a transaction of the caller's, and on one of ours.
 */
export interface Producers {
  /** Those for jobs and messages, on the client's own connections. */
  readonly own: JobProducer & MessageProducer
  /** Resolves when everything asked so far is answered. */
  idle(): Promise<void>
  /** On a transaction of the caller's library; `holder` is what its calls take turns on: his own object. */
  on(transaction: Queryable, holder: object): Producer
  /** What a run does through its worker, as the client itself would. */
  readonly forRuns: Pick<
    WorkerContext,
    'prepareAsk' | 'starters' | 'writeAsks' | 'writeAsk' | 'producerOn'
  >
}

export interface ProducersOptions {
  readonly executor: Executor
  readonly enqueuer: Enqueuer
  readonly decisions: QueueDecisions
  readonly maxPayload: number
  readonly hintUntil: () => string
  readonly streams: () => StreamService
  /** Throws when the client is closed; what runs in a transaction of ours may end it. */
  readonly check: () => void
}

export function producers(options: ProducersOptions): Producers {
  const { executor, enqueuer, decisions: queues, maxPayload } = options
  const { now } = executor.clock
  const sending = sender({ ...options, queues })

  function jobsTo(one: Destination['one'], many: Destination['many']): JobProducer {
    return producer({ now, maxPayload, queues, one, many })
  }

  function on(transaction: Queryable, holder: object, check: () => void): Producer {
    const inside = <R>(work: (runner: Runner) => Promise<R>): Promise<R> =>
      inTurn(holder, async () => {
        check()
        return work(await executor.borrow(transaction))
      })
    return {
      ...jobsTo(
        (ask) => inside((runner) => enqueuer.enqueueOn(runner, ask)),
        (pieces) => inside((runner) => enqueuer.enqueueManyOn(runner, pieces)),
      ),
      ...options.streams().on(inside),
      ...sending.on(inside),
      notify: notifier(executor.namespace, inside),
    }
  }

  return {
    own: { ...jobsTo(enqueuer.enqueue, enqueuer.enqueueMany), ...sending.own },
    async idle() {
      await Promise.all([enqueuer.idle(), sending.idle()])
    },
    on: (transaction, holder) => on(transaction, holder, options.check),
    forRuns: {
      prepareAsk: (kind, input, given) =>
        prepareAsk(kind, input, { options: given, now: now(), maxPayload, queues }),
      starters: enqueuer.starters,
      writeAsk: enqueuer.enqueueOn,
      writeAsks: (runner, asks) => enqueuer.enqueueManyOn(runner, inOnePiece(asks)),
      producerOn: (transaction) => on(transaction, transaction, () => undefined),
    },
  }
}

async function* inOnePiece(asks: readonly Ask[]): AsyncGenerator<readonly Ask[], void> {
  yield asks
}
