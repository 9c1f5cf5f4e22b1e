import { DatabaseError } from '../../errors.ts'
import { conditionOf, cureOf, endsSession, isRetryable } from './sqlstates.ts'

/** The circumstances of a failure that the library's error does not tell. */
export interface Circumstances {
  /** The statement's name, never its text or its values; null while connecting. */
  readonly statement: string | null
  /**
   * The statement may have taken effect although no answer came: it was sent, and not inside a
   * transaction whose commit was still to come.
   */
  readonly mayHaveApplied: boolean
}

/**
 * One error for whatever a database library throws. The message never holds parameter values:
 * PostgreSQL's `detail` and `where` are left out, and messages that quote their input are replaced
 * by the name of the condition. The library's own error is kept as `cause`; its members that may
 * hold values are still there for who asks for them, and are not listed where it is logged whole.
 */
export function translateError(error: unknown, circumstances: Circumstances): DatabaseError {
  if (error instanceof DatabaseError) return error
  const origin = originOf(error)
  const sqlstate = sqlstateOf(origin)
  if (sqlstate !== null) return serverError(origin, sqlstate, circumstances)
  if (isDisconnect(origin)) return disconnected(origin, circumstances)
  return new DatabaseError(
    `${subject(circumstances)} failed: ${messageOf(origin)}. See the cause.`,
    { sqlstate: null, statement: circumstances.statement, retryable: false, outcomeUnknown: false },
    { cause: error },
  )
}

/** The connection went away, or never came to be, and no answer of PostgreSQL says why. */
export function disconnected(error: unknown, circumstances: Circumstances): DatabaseError {
  const unknown = circumstances.mayHaveApplied ? ' Whether it took effect is unknown.' : ''
  return new DatabaseError(
    `${subject(circumstances)} failed: ${messageOf(error)}.${unknown} ${cureOf('08')}`,
    {
      sqlstate: null,
      statement: circumstances.statement,
      retryable: true,
      outcomeUnknown: circumstances.mayHaveApplied,
    },
    { cause: error },
  )
}

function serverError(
  error: object,
  sqlstate: string,
  { statement, mayHaveApplied }: Circumstances,
): DatabaseError {
  const what = conditionOf(sqlstate) ?? messageOf(error)
  return new DatabaseError(
    `${subject({ statement })} failed: ${what} (SQLSTATE ${sqlstate}). ${cureOf(sqlstate)}`,
    {
      sqlstate,
      statement,
      retryable: isRetryable(sqlstate),
      // A backend that ends at the very moment of its commit says the same as one that ended before.
      outcomeUnknown: mayHaveApplied && endsSession(sqlstate) && sqlstate !== READ_ONLY,
    },
    { cause: unlisted(error) },
  )
}

/** PostgreSQL's `detail` of a failed CHECK is the whole row, payload and all. */
function unlisted(error: object): object {
  for (const member of TELLING) {
    const found = Object.getOwnPropertyDescriptor(error, member)
    if (found?.enumerable === true && found.configurable === true) {
      Object.defineProperty(error, member, { ...found, enumerable: false })
    }
  }
  return error
}

const TELLING = ['detail', 'where', 'internalQuery', 'query', 'parameters', 'args', 'params']

// A server that takes no writes took none.
const READ_ONLY = '25006'

function subject({ statement }: { readonly statement: string | null }): string {
  return statement === null ? 'connecting to the database' : `statement ${statement}`
}

// Query builders wrap the driver's error, as `cause` or as `driverError`.
function originOf(error: unknown): object {
  let current = error
  for (let depth = 0; depth < 5 && isObject(current); depth += 1) {
    if (sqlstateOf(current) !== null || isDisconnect(current)) return current
    current = Reflect.get(current, 'driverError') ?? Reflect.get(current, 'cause')
  }
  return isObject(error) ? error : new Error(String(error))
}

function sqlstateOf(error: object): string | null {
  const code: unknown = Reflect.get(error, 'code')
  return typeof code === 'string' && SQLSTATE.test(code) ? code : null
}

// Classes begin with a digit, or are one of these four: EPIPE has five characters, too.
const SQLSTATE = /^(?:\d[0-9A-Z]|F0|HV|P0|XX)[0-9A-Z]{3}$/

function isDisconnect(error: object): boolean {
  const code: unknown = Reflect.get(error, 'code')
  if (typeof code === 'string' && DISCONNECTS.has(code)) return true
  return WORDS_OF_DISCONNECT.test(messageOf(error))
}

const DISCONNECTS: ReadonlySet<string> = new Set([
  'EAI_AGAIN',
  'ECONNABORTED',
  'ECONNREFUSED',
  'ECONNRESET',
  'EHOSTDOWN',
  'EHOSTUNREACH',
  'ENETDOWN',
  'ENETRESET',
  'ENETUNREACH',
  'ENOENT', // the server's socket file, between two starts
  'ENOTFOUND', // names come and go with their pods
  'EPIPE',
  'ERR_STREAM_DESTROYED',
  'ERR_STREAM_WRITE_AFTER_END',
  'ETIMEDOUT',
  // of postgres.js
  'CONNECT_TIMEOUT',
  'CONNECTION_CLOSED',
  'CONNECTION_DESTROYED',
  'CONNECTION_ENDED',
])

// node-postgres has no codes for these.
const WORDS_OF_DISCONNECT =
  /^(?:Connection terminated|timeout expired$|timeout exceeded when trying to connect|Client (?:has encountered a connection error|was closed) and is not queryable)/

// The AggregateError of a name with several addresses has no message of its own.
function messageOf(error: unknown): string {
  if (!isObject(error)) return String(error)
  const message: unknown = Reflect.get(error, 'message')
  if (typeof message === 'string' && message !== '') return message
  return String(Reflect.get(error, 'code') ?? 'no reason given')
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null
}
