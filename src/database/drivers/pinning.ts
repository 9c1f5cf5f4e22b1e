import { LONGEST_STATEMENT, PLAN_SETTINGS } from '../database.ts'
import type { Query, Row, SessionOptions } from '../database.ts'

/**
 * The settings that our statements rest on, whatever a role or a database has set otherwise. They are
 * sent with the start of a session. A pooler may refuse them there, or swallow them, and what is set
 * later on a connection that others use next would be theirs, too. So each connection is looked at
 * once: where plans are not pinned, transactions pin them for themselves; and where defaults that give
 * a statement its meaning are odd, each statement is a transaction. That costs two round trips more,
 * and only there.
 */

/**
 * Plans (see PLAN_SETTINGS), READ COMMITTED, the spelling of instants and numbers, and of the objects
 * that the start check reads. `statement_timeout` ends a query on the server soon after we gave it up, so that it does not take effect much later.
 * Statements name the schema of each table, and not that of functions and operators: a function that
 * fits better, in a schema where others may create (`public` was one), would be called with our rights,
 * so only PostgreSQL's own are found, but where the application's statements run too.
 * `default_transaction_read_only` is left alone: operators and managed databases set it to stop
 * writes, for instance when the disk is nearly full.
 */
export function sessionSettings({
  timeoutMs,
  isShared,
}: SessionOptions): Readonly<Record<string, string>> {
  return {
    ...PLAN_SETTINGS,
    default_transaction_isolation: 'read committed',
    DateStyle: 'ISO, MDY',
    extra_float_digits: '1',
    quote_all_identifiers: 'off',
    statement_timeout: String(Math.min(timeoutMs + 1_000, LONGEST_STATEMENT)),
    ...(isShared === true ? {} : { search_path: 'pg_catalog,pg_temp' }),
  }
}

/** What a connection turned out to be. */
export interface Look {
  readonly takesWrites: boolean
  /** Our settings arrived. */
  readonly isPinned: boolean
  /** Statements mean the same without them. */
  readonly isSound: boolean
}

/** Sent unnamed: behind a pooler a prepared statement would stay on somebody's connection. */
export const LOOK: Query = {
  name: 'look',
  text: `select
  pg_catalog.current_setting('transaction_read_only') as read_only,
  pg_catalog.current_setting('enable_seqscan') as seqscan,
  pg_catalog.current_setting('default_transaction_isolation') as isolation,
  pg_catalog.current_setting('DateStyle') as spelling,
  pg_catalog.current_setting('extra_float_digits') as digits,
  pg_catalog.current_setting('quote_all_identifiers') as quotes,
  pg_catalog.date_part('epoch', pg_catalog.current_setting('statement_timeout')::interval)::text as seconds`,
  values: [],
  isAskedOnce: true,
}

export function lookedAt(row: Row | undefined): Look {
  const seconds = Number(row?.['seconds'])
  return {
    takesWrites: row?.['read_only'] === 'off',
    isPinned: row?.['seqscan'] === 'off',
    isSound:
      row?.['isolation'] === 'read committed' &&
      String(row['spelling']).startsWith('ISO') &&
      Number(row['digits']) >= 1 &&
      row['quotes'] === 'off' &&
      (seconds === 0 || seconds >= SHORTEST_TIMEOUT),
  }
}

// In seconds. A timeout of the role's that ends our statements while they wait for each other would
// end them again and again.
const SHORTEST_TIMEOUT = 5

/** How transactions begin where a pooler keeps our settings from the session. */
export function pinnedBegin(settings: Readonly<Record<string, string>>): string {
  const local = Object.entries(settings)
    // Of this transaction it is said already.
    .filter(([name]) => name !== 'default_transaction_isolation')
    .map(([name, value]) => `set local ${name} = ${LISTS.has(name) ? value : `'${value}'`}`)
  return ['begin isolation level read committed', ...local].join('; ')
}

// Their commas part elements: quoted they would be one.
const LISTS: ReadonlySet<string> = new Set(['DateStyle', 'search_path'])
