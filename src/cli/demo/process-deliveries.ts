import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Mill, Transaction } from '../../index.ts'
import { ACTIVITIES } from './activities.ts'
import type { Application } from './application.ts'
import { simulatedGitHub } from './github.ts'
import { webhookHandlers } from './handlers.ts'
import type { Done } from './handlers.ts'
import { kindsOf } from './kinds.ts'
import type { WebhookKind } from './kinds.ts'
import { parseBody } from './payloads.ts'
import type { Delivery } from './payloads.ts'
import { placed } from './place.ts'
import type { Place } from './place.ts'
import type { Progress } from './progress.ts'
import { startProjection } from './projection.ts'
import type { Projection } from './projection.ts'
import { startTotals, totalsHandlers } from './running-totals.ts'
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
 * there, a projection follows what came of them, and a schedule shows its sums. Resolves when every
 * job has ended and the projection has read everything, or when there is no hope of it.
 */
export async function processDeliveries(
  workshop: Workshop,
  deliveries: readonly Delivery[],
  progress: Progress,
): Promise<void> {
  const { mill } = workshop
  const kinds = kindsOf(deliveries.map(({ event }) => event))
  // What is begun last ends first: no more fires, then no more runs, then nothing left to follow.
  await using projection = startProjection(workshop)
  await using worker = mill
    .worker({ concurrency: 10 })
    .use(handlersFor(kinds, workshop), totalsHandlers({ ...workshop, say: progress.say }))
  await worker.start()
  await using _totals = await startTotals(mill)
  try {
    await arriveAndWatch({ workshop, kinds, progress, projection }, deliveries)
  } finally {
    progress.end()
  }
}

interface Arrival {
  readonly workshop: Workshop
  readonly kinds: ReadonlyMap<string, WebhookKind>
  readonly progress: Progress
  readonly projection: Projection
}

async function arriveAndWatch(
  { workshop, kinds, progress, projection }: Arrival,
  deliveries: readonly Delivery[],
): Promise<void> {
  const { application, place } = workshop
  const failed = new AbortController()
  const signal = AbortSignal.any([workshop.signal, failed.signal])
  let arrived = 0
  projection.ended.catch(() => failed.abort())
  const arriving = arriveAll().catch((error: unknown) => {
    failed.abort()
    throw error
  })
  const watching = watchStates({
    application,
    place,
    total: deliveries.length,
    signal,
    onStates: (states) => progress.show(arrived, states),
  })
  await Promise.all([arriving, watching])
  if (failed.signal.aborted) await projection.ended

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
  { place }: Workshop,
): ReturnType<typeof webhookHandlers> {
  const text = placed(RECORD_ACTIVITY, place)
  return webhookHandlers(kinds, {
    github: simulatedGitHub(),
    record: (done, transaction) => record(text, done, transaction),
  })
}

/** The row, the sums, the event, and the end of the job: one commit has all of them, or none. */
async function record(text: string, done: Done, transaction: Transaction): Promise<void> {
  const { delivery, event, activity } = done
  const { repository, sender, senderType, headline, commits, comments } = activity
  const values = [delivery, repository, sender, senderType, headline, commits, comments]
  await transaction.query(text, values)
  const key = repository ?? undefined
  await transaction.publish(ACTIVITIES, { delivery, event, commits, comments }, { key })
}
