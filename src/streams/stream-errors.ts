import { InvalidInputError, MillraceError } from '../errors.ts'
import type { InputIssue } from '../errors.ts'

/**
 * A reader is below what was trimmed: events `from` to `to` are gone. Go on behind them with
 * `onTrimmed: 'skip'`.
 */
export class EventsTrimmedError extends MillraceError {
  readonly code = 'EVENTS_TRIMMED'
  readonly stream: string
  readonly from: number
  readonly to: number

  constructor(stream: string, from: number, to: number) {
    super(
      `events ${from} to ${to} of stream ${JSON.stringify(stream)} were trimmed before they were read. Pass onTrimmed: 'skip' to go on at ${to + 1}, or trim later.`,
    )
    this.stream = stream
    this.from = from
    this.to = to
  }
}

/** An event that the reader's schema refuses. It is not acknowledged. */
export class InvalidEventError extends MillraceError {
  readonly code = 'INVALID_EVENT'
  readonly stream: string
  readonly offset: number
  readonly issues: readonly InputIssue[]

  /** `cause`: what the schema, or the JSON, said. */
  constructor(stream: string, offset: number, cause: unknown) {
    const issues = issuesOf(cause)
    const lines = issues.map(({ path, message }) => [...path.map(String), message].join(': '))
    super(
      `event ${offset} of stream ${JSON.stringify(stream)} is not what the schema takes: ${lines.join('; ')}. Let the schema take it, or pass onInvalid: 'skip'.`,
      { cause },
    )
    this.stream = stream
    this.offset = offset
    this.issues = issues
  }
}

function issuesOf(cause: unknown): readonly InputIssue[] {
  if (cause instanceof InvalidInputError) return cause.issues
  return [{ message: cause instanceof Error ? cause.message : String(cause), path: [] }]
}
