import { defineHandlers, GiveUp, RetryIn } from '../../index.ts'
import type { Handlers, Run, Transaction } from '../../index.ts'
import { activityOf } from './activity.ts'
import type { Activity } from './activity.ts'
import type { GitHub } from './github.ts'
import { jsonAt, numberAt, textAt } from './json-at.ts'
import type { WebhookInput, WebhookKind } from './kinds.ts'
import type { Payload } from './payloads.ts'

/** What handlers need from outside, as arguments: there is no container. */
export interface Services {
  readonly github: GitHub
  /** Writes what came of a delivery, in the run's transaction. */
  readonly record: (done: Done, transaction: Transaction) => Promise<void>
}

export interface Done {
  readonly delivery: string
  readonly event: string
  readonly activity: Activity
}

/** One handler for all kinds: events differ in what they say, not in what is done about them. */
export function webhookHandlers(
  kinds: ReadonlyMap<string, WebhookKind>,
  services: Services,
): Handlers<string> {
  let handlers: Handlers<string> = defineHandlers()
  for (const [event, kind] of kinds) {
    handlers = handlers.handle(kind, (input, run) =>
      processWebhook(event, input, { run, ...services }),
    )
  }
  return handlers
}

interface Context extends Services {
  readonly run: Run<WebhookKind>
}

async function processWebhook(event: string, input: WebhookInput, context: Context): Promise<void> {
  const { delivery, payload } = input
  const { run, github, record } = context
  refuseOrganizationHooks(event, payload)
  await awaitMergeability(input, context)
  const activity = activityOf(event, payload)
  if (activity.sender !== null) await github.hasAccount(activity.sender, run.signal)
  run.note(activity.headline)
  await run.transaction((transaction) => record({ delivery, event, activity }, transaction))
}

// GitHub greets every new hook. One that a whole organization set up is none of ours: no later try
// changes that, and somebody should look at it.
function refuseOrganizationHooks(event: string, payload: Payload): void {
  if (event !== 'ping' || textAt(payload, 'hook', 'type') !== 'Organization') return
  const hook = numberAt(payload, 'hook', 'id')
  throw new GiveUp(`hook ${hook} is an organization's; this application serves repositories`)
}

async function awaitMergeability(input: WebhookInput, { run, github }: Context): Promise<void> {
  const { delivery, payload } = input
  const pull = textAt(payload, 'pull_request', 'url')
  if (pull === undefined || jsonAt(payload, ['pull_request', 'mergeable']) !== null) return
  if ((await github.isMergeable(pull, delivery, run.signal)) !== null) return
  const number = numberAt(payload, 'pull_request', 'number')
  throw new RetryIn('300ms', `GitHub has not computed yet whether #${number} can be merged`)
}
