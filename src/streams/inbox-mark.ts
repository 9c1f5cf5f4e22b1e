/**
 * Where the walk of one stream's inbox begins. Events that left it stay in its index as dead entries
 * while any snapshot is held open anywhere, and pile up at its front. So a walk starts behind what
 * was moved before, by any process: the newest event tells its place. A mark is memory only, a hint:
 * what commits late has a place before it, and is found by a walk that only looks.
 */
export interface InboxMark {
  /** Places up to this one are not looked at. */
  readonly at: number
  /** A pass walked everything behind `from`, or, where it is full, up to `headPlace`. */
  passed(pass: InboxPass): void
  /** An event waits at this place, before the mark: the next walk begins there, once. */
  lower(place: number): void
}

export interface InboxPass {
  readonly from: number
  /** The place of the newest event with an offset. */
  readonly headPlace: number
  readonly isFull: boolean
  readonly now: number
}

// Publishers that are committing right now have places a little before the newest: they are kept in
// reach without a look.
const COMMIT_MARGIN = 250

export function inboxMark(): InboxMark {
  let mark = 0
  let low: number | null = null
  let candidate: { readonly place: number; readonly since: number } | null = null
  return {
    get at() {
      return low ?? mark
    },
    passed({ from, headPlace, isFull, now }) {
      if (from === low) low = isFull && headPlace < mark ? headPlace : null
      else if (isFull) mark = Math.max(mark, headPlace)
      const isRipe = candidate === null || now - candidate.since >= COMMIT_MARGIN
      if (!isRipe) return
      mark = Math.max(mark, candidate?.place ?? 0)
      candidate = { place: headPlace, since: now }
    },
    lower(place) {
      low = Math.min(low ?? mark, place - 1)
    },
  }
}
