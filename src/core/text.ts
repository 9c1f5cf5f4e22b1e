/**
 * Text on its way into a `text` column. PostgreSQL refuses U+0000, and half of a surrogate pair has
 * no UTF-8; an error message that holds either would make the record of a failure fail. (JSON is
 * free of this: it escapes both, and they come back as they were.)
 */

/** Bytes in UTF-8. */
export function byteLength(text: string): number {
  return encoder.encode(text).length
}

/** `text` as a column holds it, at most `maxBytes` of UTF-8, with a mark at the end where it was cut. */
export function storableText(text: string, maxBytes: number): StorableText {
  const limit = Math.max(0, maxBytes)
  // No more of it can be kept, and what follows must not walk a text of megabytes.
  const head = text.length > limit ? text.slice(0, limit) : text
  const safe = head.replaceAll('\u0000', '\uFFFD').toWellFormed()
  if (head === text && fits(safe, limit)) return { text: safe, truncated: false }
  const mark = limit < MARK_BYTES ? '' : MARK
  const room = new Uint8Array(mark === '' ? limit : limit - MARK_BYTES)
  // Writes whole code points only.
  const { read } = encoder.encodeInto(safe, room)
  return { text: safe.slice(0, read) + mark, truncated: true }
}

export interface StorableText {
  readonly text: string
  readonly truncated: boolean
}

const encoder = new TextEncoder()

const MARK = '… [truncated]'
const MARK_BYTES = 15

function fits(text: string, maxBytes: number): boolean {
  // One UTF-16 unit is at most three bytes: short texts need no counting.
  return text.length * 3 <= maxBytes || byteLength(text) <= maxBytes
}
