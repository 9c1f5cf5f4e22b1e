/**
 * What PostgreSQL's five characters mean to a caller: may the call be repeated, is the connection
 * gone, and what should a person do. From appendix A of its manual.
 */

/** True when the same call may succeed later, unchanged. */
export function isRetryable(sqlstate: string): boolean {
  return RETRYABLE.some((prefix) => sqlstate.startsWith(prefix))
}

/** True when the server ends the session with this answer: nothing more comes on this connection. */
export function endsSession(sqlstate: string): boolean {
  return ENDING.some((prefix) => sqlstate.startsWith(prefix))
}

/** True when a prepared statement was not there, or was there already: as behind a pooler. */
export function isUnprepared(sqlstate: string | null): boolean {
  return sqlstate === '26000' || sqlstate === '42P05'
}

/**
 * The name of a condition whose message quotes what was sent (`invalid input syntax for type
 * integer: "…"`), so that the name can stand in for the message; undefined for all others, whose
 * messages name objects only.
 */
export function conditionOf(sqlstate: string): string | undefined {
  if (!sqlstate.startsWith('22')) return undefined
  return DATA_EXCEPTIONS[sqlstate] ?? 'data exception'
}

/** What to do about it: a sentence that ends an error message. */
export function cureOf(sqlstate: string): string {
  const known = CURES.find(([prefix]) => sqlstate.startsWith(prefix))
  if (known !== undefined) return known[1]
  if (isRetryable(sqlstate)) return 'The same call may succeed when it is repeated.'
  return `See SQLSTATE ${sqlstate} in appendix A of the PostgreSQL manual.`
}

const RETRYABLE: readonly string[] = [
  '08', // connection exception
  '25006', // read-only: a standby, or the old primary after a failover
  '25P03', // idle in transaction for too long: the session was ended
  '25P04', // transaction took too long: the session was ended
  '26000', // no such prepared statement: the next is sent unprepared
  '40', // serialization failure, deadlock
  '42P05', // there is such a prepared statement: likewise
  '53', // out of connections, memory, disk
  '55P03', // lock not available
  '57014', // cancelled: by a person, or by a statement_timeout
  '57P01', // shutdown
  '57P02', // crash of another backend
  '57P03', // starting up
  '57P05', // idle session timeout
]

const ENDING: readonly string[] = [
  '08',
  '25006', // it ends by us: another of several hosts may take writes now
  '25P03',
  '25P04',
  '57P01',
  '57P02',
  '57P03',
  '57P04',
  '57P05',
]

const DATA_EXCEPTIONS: Readonly<Record<string, string>> = {
  '22001': 'string data right truncation',
  '22003': 'numeric value out of range',
  '22004': 'null value not allowed',
  '22007': 'invalid datetime format',
  '22008': 'datetime field overflow',
  '22012': 'division by zero',
  '22015': 'interval field overflow',
  '22021': 'character not in repertoire',
  '22023': 'invalid parameter value',
  '22030': 'duplicate json object key value',
  '22032': 'invalid json text',
  '2202E': 'array subscript error',
  '22P02': 'invalid text representation',
  '22P03': 'invalid binary representation',
  '22P05': 'untranslatable character',
}

const CURES: readonly (readonly [prefix: string, cure: string])[] = [
  ['08P01', 'If a pooler stands in between, see its log: it refuses what it does not know.'],
  ['08', 'Check that the server is reachable; the next call connects again.'],
  ['22', 'Check the values that were passed.'],
  [
    '25006',
    'This server takes no writes: connect to the primary, or look for default_transaction_read_only.',
  ],
  ['25P02', 'An earlier statement of this transaction failed: roll it back.'],
  ['26000', 'Behind a pooler that cannot keep prepared statements, open with prepare: false.'],
  ['28', 'Check user, password and pg_hba.conf.'],
  ['3D000', 'Create the database, or correct its name in the URL.'],
  ['3F000', 'Run: npx millrace migrate up'],
  ['42501', 'Grant the role what it lacks, or connect as the owner.'],
  ['42P05', 'Behind a pooler that cannot keep prepared statements, open with prepare: false.'],
  ['42P01', 'Run: npx millrace migrate up'],
  ['42883', 'Run: npx millrace migrate up'],
  ['53300', 'Raise max_connections, or run fewer processes.'],
  ['57P01', 'The server or a person ended the session; the next call connects again.'],
  ['57P03', 'The server is starting or stopping: try again.'],
]
