import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import type { JobEvent } from 'millrace'
import type { FactLog } from './history/log.ts'

/** Tells of each settlement of the worker once it is known to have applied; gives what ends that. */
export function tellSettlements(tell: FactLog, worker: string): () => void {
  function onMessage(message: unknown): void {
    if (!isJobEvent(message) || message.worker !== worker || !SETTLED.has(message.event)) return
    const { id: job, run, event: outcome } = message
    tell({ what: 'settled', job, run, worker, outcome, applied: true })
  }
  subscribe('millrace:job', onMessage)
  return () => void unsubscribe('millrace:job', onMessage)
}

const SETTLED: ReadonlySet<string> = new Set([
  'completed',
  'retried',
  'paused',
  'released',
  'cancelled',
  'dead',
])

function isJobEvent(message: unknown): message is JobEvent {
  return typeof message === 'object' && message !== null && 'event' in message
}
