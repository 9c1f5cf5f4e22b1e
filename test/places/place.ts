import type { Mill } from 'millrace'

/** Somewhere that Millrace lives: a kind of server, a pooler, a namespace, a role. */
export interface Place {
  /** Opens a client; its tables are there. */
  open(): Promise<Mill>
  /** The name of a table there, quoted, for the life's own statements. */
  table(name: string): string
  /** A statement on a session apart from Millrace; null where only the client can reach the data. */
  readonly look: Look | null
  /** Notifications arrive. */
  readonly hears: boolean
  /** Work inside a transaction of the application's, committed unless it throws; null: there is none. */
  readonly transaction: ((work: (tx: Asking) => Promise<void>) => Promise<void>) | null
}

export type Look = (text: string) => Promise<readonly Readonly<Record<string, unknown>>[]>

/** What node-postgres's clients, and PGlite's transactions, have in common. */
export interface Asking {
  query(text: string, values: unknown[]): Promise<{ rows: unknown[] }>
}
