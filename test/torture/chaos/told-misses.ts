import { subscribe } from 'node:diagnostics_channel'
import type { Notice } from 'millrace'
import type { FactLog } from '../history/log.ts'

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
