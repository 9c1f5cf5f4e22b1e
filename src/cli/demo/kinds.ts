import { defineJob, typed } from '../../index.ts'
import type { JobKind } from '../../index.ts'
import type { Payload } from './payloads.ts'

/** The input of every kind: which delivery, and what it brought. */
export type WebhookInput = { readonly delivery: string; readonly payload: Payload }

export type WebhookKind = JobKind<{
  name: string
  input: WebhookInput
  parsed: WebhookInput
  carry: undefined
  result: unknown
}>

export const QUEUE = 'github'

/** A kind for each event there is, by event. */
export function kindsOf(events: Iterable<string>): ReadonlyMap<string, WebhookKind> {
  return new Map([...new Set(events)].map((event) => [event, kindOf(event)]))
}

function kindOf(event: string): WebhookKind {
  const name: string = `github.${event}`
  return defineJob(name, {
    input: typed<WebhookInput>(),
    queue: QUEUE,
    retry: { failures: 5, backoff: { type: 'exponential', base: '200ms', cap: '5s' } },
    timeout: '30s',
  })
}
