import type { Query, Row } from '../database.ts'

/**
 * One connection as a library offers it: what a driver has to supply, and all that differs between
 * node-postgres, postgres.js and PGlite. Order, timeouts, transactions and the translation of
 * errors are built on it once, in `session.ts`.
 */
export interface Wire {
  /** Rejects with whatever the library throws. Never called again before it has answered. */
  query(query: Query): Promise<readonly Row[]>
  execute(text: string): Promise<void>
  /** True once the connection is gone, at once after `destroy`. A wire never connects again. */
  readonly isGone: boolean
  /** Each turn is a transaction of the library's already: no `begin` and no `commit` from us. */
  readonly isTransactional?: boolean | undefined
  /** Statements are sent unprepared from now on. */
  prepareNoMore?(): void
  /** Drops the connection without a word. What is under way rejects. */
  destroy(): void
  /** Takes leave and waits for the end, but not longer than a moment. */
  end(): Promise<void>
}

export interface WireOptions {
  readonly applicationName: string
  /** Settings sent with the startup packet, over those of the role, the database and the caller. */
  readonly settings: Readonly<Record<string, string>>
  readonly prepare: boolean
  readonly onNotification?: ((channel: string, payload: string) => void) | undefined
  /** Called when the connection is gone, also after `end` and `destroy`; perhaps more than once. */
  readonly onGone?: ((error: unknown) => void) | undefined
}

/** Opens a connection to one server, or rejects with what the library says. */
export type OpenWire = (options: WireOptions) => Promise<Wire>

/** How long a connection may take to be there, in milliseconds. */
export const CONNECT_WITHIN = 10_000
