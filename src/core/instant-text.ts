/**
 * Instants travel to the database as ISO text: every library sends text alike, and no setting of
 * `DateStyle` or `TimeZone` changes what it means.
 */

// What Date holds ends in the year 275760; PostgreSQL reads that year, but not the plus sign before it.
const LAST = 8.64e15
// PostgreSQL reads no year before 1 in ISO form; an instant that early only ever means "long past".
const FIRST = -62_135_596_800_000

/** Milliseconds since the Unix epoch as text for `timestamptz`; beyond what `Date` holds it saturates. */
export function instantText(milliseconds: number): string {
  const within = Math.min(LAST, Math.max(FIRST, Math.round(milliseconds)))
  return new Date(within).toISOString().replace(/^\+/, '')
}

/** A column of milliseconds as a Date; what `Date` cannot hold (infinity) saturates. */
export function dateFrom(milliseconds: number): Date {
  return new Date(Math.min(LAST, Math.max(-LAST, milliseconds)))
}
