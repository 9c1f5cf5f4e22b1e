import { monotonicFactory, TIME_MAX } from 'ulid'

/**
 * A new id: a ULID whose time is `now` (milliseconds since the Unix epoch). Each is greater than
 * the one before it in this process, also when `now` stands still or goes back, so that jobs of one
 * producer sort in the order they were asked for.
 */
export function makeId(now: number): string {
  // Within what a ULID holds; the package takes 0 for "not given" and reads the machine's clock.
  return next(Math.min(Math.max(1, Math.floor(now)), TIME_MAX))
}

/** Whether `text` is an id as this package writes them: 26 characters, upper case, within 128 bits. */
export function isId(text: unknown): text is string {
  return typeof text === 'string' && /^[0-7][0-9A-HJKMNP-TV-Z]{25}$/.test(text)
}

/** A number in [0, 1), evenly spread: the only chance in the package beside the ids. */
export function chance(): number {
  const [bits = 0] = globalThis.crypto.getRandomValues(new Uint32Array(1))
  return bits / 2 ** 32
}

const next = monotonicFactory(randomFraction)

// Ids are not secrets, but two processes that start alike must not make the same ones. An id of a
// new millisecond takes 16 bytes, asked for one by one: drawn singly they cost 47 µs an id, in blocks
// less than one.
const drawn = new Uint8Array(256)
let used = drawn.length

function randomFraction(): number {
  if (used === drawn.length) {
    globalThis.crypto.getRandomValues(drawn)
    used = 0
  }
  const byte = drawn[used] ?? 0
  used += 1
  return byte / 256
}
