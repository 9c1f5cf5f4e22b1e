import { dateFrom } from '../core/instant-text.ts'
import type { ExplainRow } from './explain-statements.ts'
import type { ExplainReason } from './explain.ts'

/** What an explanation comes to, in one sentence for people. */
export function summaryOf(row: ExplainRow, reasons: readonly ExplainReason[]): string {
  switch (row.state) {
    case 'pending':
      return pendingText(row, reasons)
    case 'running':
      return `it has been running since ${instant(row.started_at)} in worker ${row.worker}`
    case 'completed':
      return `it completed at ${instant(row.finished_at)}`
    case 'dead':
      return `it is dead (${row.reason}) since ${instant(row.finished_at)}; retry puts it back into line`
    case 'cancelled':
      return `it was cancelled at ${instant(row.finished_at)}; retry puts it back into line`
  }
}

function pendingText({ queue }: ExplainRow, [first, ...others]: readonly ExplainReason[]): string {
  if (first === undefined)
    return `nothing keeps a worker from claiming it from queue "${queue}" now`
  const more = others.length === 0 ? '' : ` (and ${others.length} more)`
  return `it is not running because ${reasonText(first)}${more}`
}

/** One reason, to follow "because". */
export function reasonText(reason: ExplainReason): string {
  switch (reason.code) {
    case 'not-due':
      return `it is due at ${reason.dueAt.toISOString()} (${reason.because})`
    case 'queue-paused':
      return `queue "${reason.queue}" is paused since ${reason.since.toISOString()}`
    case 'no-worker':
      return noWorkerText(reason)
    case 'kind-at-cap':
      return `kind "${reason.kind}" is at its cap: ${reason.running} of ${reason.cap} run`
    case 'queue-at-cap':
      return `its queue is at its cap: ${reason.running} of ${reason.cap} run`
    case 'worker-full':
      return `all its workers are full: ${reason.running} of ${reason.cap} slots are taken`
    case 'behind':
      return `${reason.ahead.exact ? '' : 'at least '}${reason.ahead.value} due jobs come first`
    case 'key-held':
      return `it waits for the end of job ${reason.by}, which comes first of the same key`
    case 'key-halted':
      return `job ${reason.by} is dead and halts its key: retry that, or pass over it with mill.outboxes.skip()`
    case 'expired':
      return `it expired at ${reason.expiresAt.toISOString()}; maintenance ends it`
  }
}

function noWorkerText(reason: Extract<ExplainReason, { readonly code: 'no-worker' }>): string {
  const seen =
    reason.lastSeenAt === null
      ? ''
      : `; the last that did was seen at ${reason.lastSeenAt.toISOString()}`
  return `no live worker claims kind "${reason.kind}" from queue "${reason.queue}"${seen}`
}

function instant(milliseconds: number | null): string {
  return milliseconds === null ? 'an unknown time' : dateFrom(milliseconds).toISOString()
}
