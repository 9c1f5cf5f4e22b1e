import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Mill } from '../../index.ts'
import type { Application } from './application.ts'
import { simulatedGitHub } from './github.ts'
import { webhookHandlers } from './handlers.ts'
import { kindsOf } from './kinds.ts'
import type { WebhookKind } from './kinds.ts'
import { parseBody } from './payloads.ts'
import type { Delivery } from './payloads.ts'
import { placed } from './place.ts'
import type { Place } from './place.ts'
import type { Progress } from './progress.ts'
import { watchStates } from './states.ts'
import { RECORD_ACTIVITY, STORE_DELIVERY } from './tables.ts'

/** What the demo works with. */
export interface Workshop {
  readonly mill: Mill
  readonly application: Application
  readonly place: Place
  readonly signal: AbortSignal
}

/**
 * The main thing: webhooks arrive one after the other, while a worker processes those that are
 * there. Resolves when every job has ended, or when there is no hope of it.
 */
export async function processDeliveries(
  workshop: Workshop,
  deliveries: readonly Delivery[],
  progress: Progress,
): Promise<void> {
  const { mill, application, place, signal } = workshop
  const kinds = kindsOf(deliveries.map(({ event }) => event))
  const worker = mill.worker({ concurrency: 10 }).use(handlersFor(kinds, workshop))
  const failed = new AbortController()
  const total = deliveries.length
  let arrived = 0
  await worker.start()
  try {
    const arriving = arriveAll().catch((error: unknown) => {
      failed.abort()
      throw error
    })
    const watching = watchStates({
      application,
      place,
      total,
      signal: AbortSignal.any([signal, failed.signal]),
      onStates: (states) => progress.show(arrived, states),
    })
    await Promise.all([arriving, watching])
  } finally {
    progress.end()
    await worker.stop()
  }

  async function arriveAll(): Promise<void> {
    for (const delivery of deliveries) {
      if (signal.aborted) return
      const kind = kinds.get(delivery.event)
      if (kind !== undefined) await arrive(workshop, kind, delivery)
      arrived += 1
      // What comes over a network lets timers run in between. The embedded database answers without
      // leaving the process, so that a loop over it alone would hold up the runs.
      await nextTurn()
    }
  }
}

/** One transaction, so that there is never a webhook without a job, nor a job without a webhook. */
async function arrive(
  { mill, application, place }: Workshop,
  kind: WebhookKind,
  { id, event, body }: Delivery,
): Promise<void> {
  await application.transaction(async (transaction) => {
    const input = { delivery: id, payload: parseBody(body) }
    const job = await mill.in(transaction).enqueue(kind, input)
    await transaction.query(placed(STORE_DELIVERY, place), [id, event, body, job.id])
  })
}

function handlersFor(
  kinds: ReadonlyMap<string, WebhookKind>,
  { application, place }: Workshop,
): ReturnType<typeof webhookHandlers> {
  const text = placed(RECORD_ACTIVITY, place)
  return webhookHandlers(kinds, {
    github: simulatedGitHub(),
    async record(delivery, { repository, sender, senderType, headline, commits, comments }) {
      const values = [delivery, repository, sender, senderType, headline, commits, comments]
      await application.query(text, values)
    },
  })
}
