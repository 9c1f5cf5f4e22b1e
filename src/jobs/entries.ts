import { decodeJson } from '../core/json.ts'
import type { RecordedError } from '../core/recorded-error.ts'
import type { JournalRow } from '../journal/statements.ts'
import type { Entry, JournalEntry, RunEntry } from './job.ts'
import { dateOf, dateOrNull, errorOf, reasonOf } from './records.ts'

/** Rows of the timeline as journal entries; an outcome of a later release than this gives null. */
export function entryOf(row: JournalRow): JournalEntry | null {
  switch (row.outcome) {
    case 'completed':
    case 'released':
      return { ...runEntry(row), outcome: row.outcome }
    case 'paused':
      return { ...runEntry(row), outcome: 'paused', dueAt: dateOf(row.due_at) }
    case 'retried':
      return {
        ...runEntry(row),
        outcome: 'retried',
        error: errorOf(row.error) ?? UNKNOWN_ERROR,
        failures: row.failures,
        dueAt: dateOf(row.due_at),
      }
    case 'stale-recovered':
      return {
        ...runEntry(row),
        outcome: 'stale-recovered',
        recoveredBy: row.recovered_by ?? '',
        failures: row.failures,
        dueAt: dateOrNull(row.due_at),
      }
    default:
      return decisionOf(row)
  }
}

function decisionOf(row: JournalRow): JournalEntry | null {
  const { run, decided_by: by, why } = row
  switch (row.outcome) {
    case 'dead':
      return {
        ...entry(row),
        outcome: 'dead',
        run,
        reason: reasonOf(row.reason),
        error: errorOf(row.error),
      }
    case 'cancelled':
      return { ...entry(row), outcome: 'cancelled', run, by, why }
    case 'merged':
      return {
        ...entry(row),
        outcome: 'merged',
        decision: mergeOf(row),
        asked: row.asked_id ?? '',
      }
    case 'redriven':
    case 'rescheduled':
      return { ...entry(row), outcome: row.outcome, by, dueAt: dateOf(row.due_at) }
    default:
      return null
  }
}

function entry(row: JournalRow): Entry {
  return {
    jobId: row.job_id,
    at: dateOf(row.at),
    note: row.note,
    attachment: row.attachment === null ? null : decodeJson(row.attachment),
  }
}

function runEntry(row: JournalRow): RunEntry {
  return {
    ...entry(row),
    run: row.run,
    worker: row.worker ?? '',
    startedAt: dateOf(row.started_at ?? row.at),
    durationMs: Math.max(0, row.at - (row.started_at ?? row.at)),
  }
}

function mergeOf(row: JournalRow): 'keep' | 'replace' | 'merge' {
  return row.decision === 'keep' || row.decision === 'replace' ? row.decision : 'merge'
}

const UNKNOWN_ERROR: RecordedError = {
  name: 'Error',
  message: 'nothing was recorded',
  code: null,
  stack: null,
  truncated: false,
}
