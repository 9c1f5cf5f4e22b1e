/**
 * Every error a user can meet. Each class has a stable `code`, its facts as fields, a message that
 * quotes what was received and ends with what to do, and keeps its `cause`.
 */
export abstract class MillraceError extends Error {
  abstract readonly code: string

  constructor(message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = new.target.name
  }
}

/** One complaint of a schema. */
export interface InputIssue {
  readonly message: string
  readonly path: readonly PropertyKey[]
}

/** The input of a job did not pass its kind's schema, or JSON cannot hold it. Nothing was written. */
export class InvalidInputError extends MillraceError {
  readonly code = 'INVALID_INPUT'
  readonly kind: string
  readonly issues: readonly InputIssue[]

  constructor(kind: string, issues: readonly InputIssue[], options?: ErrorOptions) {
    const lines = issues.map((issue) => `${pathText(issue.path)}${issue.message}`)
    super(
      `invalid input for "${kind}": ${lines.join('; ')}. Mend the input, or the kind's schema.`,
      options,
    )
    this.kind = kind
    this.issues = issues
  }
}

/** A name that cannot be one: of a queue, a kind, a schema, a prefix, a dedup key. */
export class InvalidNameError extends MillraceError {
  readonly code = 'INVALID_NAME'
  readonly what: string
  readonly value: string

  constructor(what: string, value: string, rule: string) {
    super(`${shown(value)} cannot be a ${what}: ${rule}`)
    this.what = what
    this.value = value
  }
}

/** What an option must be, and what failed while it was looked at. */
export interface BrokenRule extends ErrorOptions {
  readonly text: string
}

/** An option that does not exist, or whose value is out of range. Never clamped, never ignored. */
export class InvalidOptionError extends MillraceError {
  readonly code = 'INVALID_OPTION'
  readonly option: string
  readonly value: unknown

  constructor(option: string, value: unknown, rule: string | BrokenRule) {
    const { text, ...options } = typeof rule === 'string' ? { text: rule } : rule
    super(`option "${option}" got ${shown(value)}: ${text}`, options)
    this.option = option
    this.value = value
  }
}

/** A payload larger than the client's `maxPayload`, or than a notification can be. Nothing was written. */
export class PayloadTooLargeError extends MillraceError {
  readonly code = 'PAYLOAD_TOO_LARGE'
  readonly bytes: number
  readonly limit: number

  constructor(what: string, bytes: number, limit: number) {
    super(
      `${what} is ${bytes} bytes, the limit is ${limit}. Store it elsewhere and pass a reference; for jobs the limit is maxPayload in open().`,
    )
    this.bytes = bytes
    this.limit = limit
  }
}

/** What the start check found wrong, and the command that puts it right. */
export interface MigrationProblem {
  readonly what: string
  readonly command: string
}

/** The database is not at the version this release needs. Every problem is listed with its command. */
export class NotMigratedError extends MillraceError {
  readonly code = 'NOT_MIGRATED'
  readonly schema: string
  readonly problems: readonly MigrationProblem[]

  constructor(schema: string, problems: readonly MigrationProblem[]) {
    const lines = problems.map((problem) => `${problem.what}. Run: ${problem.command}`)
    super(lines.join('; '))
    this.schema = schema
    this.problems = problems
  }
}

/** A migration could not be applied; the database is as it was before. */
export class MigrationError extends MillraceError {
  readonly code = 'MIGRATION'
  readonly migration: string

  constructor(migration: string, why: string, options?: ErrorOptions) {
    super(`migration ${migration} was not applied: ${why}`, options)
    this.migration = migration
  }
}

/**
 * The run no longer holds its job: its lease ended and the job was taken by another. Nothing of it is
 * recorded. Of a consumer of a stream: `id` is its name, `run` its token.
 */
export class LeaseLostError extends MillraceError {
  readonly code = 'LEASE_LOST'
  readonly id: string
  readonly run: number

  constructor(id: string, run: number, options?: ErrorOptions & { readonly text?: string }) {
    super(
      options?.text ??
        `run ${run} of job ${id} lost its lease; another run may be under way. Stop its work: nothing it returns is recorded.`,
      options,
    )
    this.id = id
    this.run = run
  }
}

/** The run took longer than the job's `timeout`. It counts as a failure. */
export class RunTimeoutError extends MillraceError {
  readonly code = 'RUN_TIMEOUT'
  readonly id: string
  readonly timeoutMs: number

  constructor(id: string, timeoutMs: number) {
    super(
      `job ${id} ran longer than its timeout of ${timeoutMs} ms. Raise \`timeout\`, or do less in one run.`,
    )
    this.id = id
    this.timeoutMs = timeoutMs
  }
}

/**
 * Somebody cancelled the job while it ran. Whatever the run does but return, the job ends cancelled;
 * rethrow, or stop. `by` is who asked, null where nobody said.
 */
export class CancelledError extends MillraceError {
  readonly code = 'CANCELLED'
  readonly id: string
  readonly by: string | null

  constructor(id: string, by: string | null) {
    super(
      `job ${id} was cancelled${by === null ? '' : ` by ${shown(by)}`} while it ran. Stop its work and throw: the job ends cancelled, unless the run returns.`,
    )
    this.id = id
    this.by = by
  }
}

/** The worker stops. A run that rejects with this error is released, not failed. */
export class ShutdownError extends MillraceError {
  readonly code = 'SHUTDOWN'

  constructor() {
    super('the worker is shutting down; rethrow this error to hand the job back without a failure')
  }
}

/** A kind that cannot be handled here: two handlers for one, or none. */
export class UnknownKindError extends MillraceError {
  readonly code = 'UNKNOWN_KIND'
  readonly kind: string

  constructor(kind: string, why: string) {
    super(`kind "${kind}" ${why}`)
    this.kind = kind
  }
}

/** No record of this job exists (any more). */
export class UnknownJobError extends MillraceError {
  readonly code = 'UNKNOWN_JOB'
  readonly id: string

  constructor(id: string) {
    super(`there is no job ${shown(id)}; it may have been removed by retention (\`keep\`)`)
    this.id = id
  }
}

/** The job had not ended when the `timeout` of a wait had passed. The job goes on as if nobody had waited. */
export class WaitTimeoutError extends MillraceError {
  readonly code = 'WAIT_TIMEOUT'
  readonly id: string
  readonly timeoutMs: number

  constructor(id: string, timeoutMs: number) {
    super(
      `job ${id} had not ended after ${timeoutMs} ms; it goes on. Wait again, give a longer \`timeout\`, or see why with jobs.get() and jobs.journal().`,
    )
    this.id = id
    this.timeoutMs = timeoutMs
  }
}

/** What the database said. `retryable` means that the same call may succeed later. */
export class DatabaseError extends MillraceError {
  readonly code = 'DATABASE'
  /** The five characters of PostgreSQL's appendix A, or null when no answer came from it. */
  readonly sqlstate: string | null
  /** The name of the statement, never its text or its values. */
  readonly statement: string | null
  readonly retryable: boolean
  /** True when the connection went away, so that it is unknown whether the statement took effect. */
  readonly outcomeUnknown: boolean

  constructor(message: string, facts: DatabaseErrorFacts, options?: ErrorOptions) {
    super(message, options)
    this.sqlstate = facts.sqlstate
    this.statement = facts.statement
    this.retryable = facts.retryable
    this.outcomeUnknown = facts.outcomeUnknown
  }
}

export interface DatabaseErrorFacts {
  readonly sqlstate: string | null
  readonly statement: string | null
  readonly retryable: boolean
  readonly outcomeUnknown: boolean
}

/** The client, or the worker, was closed before or during the call. */
export class ClosedError extends MillraceError {
  readonly code = 'CLOSED'

  constructor(what = 'this client') {
    super(`${what} is closed; open() a new one`)
  }
}

/** The value as a reader would recognise it, never longer than a line. */
export function shown(value: unknown): string {
  const text =
    typeof value === 'string'
      ? JSON.stringify(value)
      : typeof value === 'object' && value !== null
        ? `${value.constructor?.name ?? 'object'} ${safeJson(value)}`
        : String(value)
  return text.length > 120 ? `${text.slice(0, 117)}...` : text
}

function safeJson(value: object): string {
  try {
    return JSON.stringify(value)
  } catch {
    return '(not JSON)'
  }
}

function pathText(path: readonly PropertyKey[]): string {
  return path.length === 0 ? '' : `${path.map(String).join('.')}: `
}
