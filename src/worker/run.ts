import { encodeJson } from '../core/json.ts'
import { storableText } from '../core/text.ts'
import type { JobKind, NameOf } from '../jobs/kind.ts'

/** One execution of a job, as its handler sees it. */
export interface Run<K extends JobKind = JobKind> {
  /** The job's id. */
  readonly id: string
  readonly kind: NameOf<K>
  readonly queue: string
  /** The fencing number: 1 for the first run, growing, never used again. */
  readonly number: number
  /** Failures before this run. */
  readonly failures: number
  /** Aborts with `LeaseLostError`, `RunTimeoutError` or `ShutdownError` as its reason. */
  readonly signal: AbortSignal
  /** When the job's `timeout` ends this run, or null without one. */
  readonly deadline: Date | null
  /** A line for people, kept with the record of this run; the last one counts, at most 8 kB. */
  note(text: string): void
  /** A document kept with the record of this run; the last one counts. Throws where JSON cannot hold it. */
  attach(json: unknown): void
}

/** What a run leaves beside its outcome. */
export interface Remarks {
  note?: string
  attachment?: string
}

export const NOTE_BYTES = 8_192

export interface RunFacts {
  readonly id: string
  readonly kind: string
  readonly queue: string
  readonly number: number
  readonly failures: number
  readonly deadline: number | null
  readonly remarks: Remarks
  /** Made when first asked for: most handlers never look at it. */
  readonly signal: () => AbortSignal
}

export function runOf(facts: RunFacts): Run {
  return {
    id: facts.id,
    kind: facts.kind,
    queue: facts.queue,
    number: facts.number,
    failures: facts.failures,
    get signal() {
      return facts.signal()
    },
    get deadline() {
      return facts.deadline === null ? null : new Date(facts.deadline)
    },
    note(text) {
      facts.remarks.note = storableText(String(text), NOTE_BYTES).text
    },
    attach(json) {
      facts.remarks.attachment = encodeJson(json)
    },
  }
}
