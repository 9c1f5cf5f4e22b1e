import { subscribe } from 'node:diagnostics_channel'
import type { JobEvent, Notice } from 'millrace'
import type { FactLog } from '../history/log.ts'

/** Events are told once a settlement is known to have applied. */
export function tellSettlements(tell: FactLog, worker: string): void {
  subscribe('millrace:job', (message) => {
    if (!isJobEvent(message) || message.worker !== worker || !SETTLED.has(message.event)) return
    const { id: job, run, event: outcome } = message
    tell({ what: 'settled', job, run, worker, outcome, applied: true })
  })
}

const SETTLED: ReadonlySet<string> = new Set([
  'completed',
  'retried',
  'paused',
  'released',
  'cancelled',
  'dead',
])

/**
 * A run that lost its lease: whatever it came to, nothing of it may be recorded as its worker's. Dead
 * it may be by who took it over.
 */
export function tellMisses(tell: FactLog): void {
  subscribe('millrace:notice', (message) => {
    if (!isNotice(message) || !message.message.startsWith(LOST)) return
    const { worker, job, run, kind } = message.facts
    // One whose commit got no answer may be recorded all the same.
    if (kind === 'gathered') return
    const own = { job: String(job), run: Number(run), worker: String(worker) }
    for (const outcome of ['completed', 'retried', 'paused']) {
      tell({ what: 'settled', ...own, outcome, applied: false })
    }
  })
}

const LOST = 'a run lost its lease'

function isNotice(message: unknown): message is Notice {
  return typeof message === 'object' && message !== null && 'facts' in message
}

function isJobEvent(message: unknown): message is JobEvent {
  return typeof message === 'object' && message !== null && 'event' in message
}
