/**
 * Rotation against starvation (C3). Jobs of a better level come first, but not always: of the slots
 * that a queue fills, counted from 1, every r-th is reserved for a lower level than the best that
 * waits, every r²-th for the next lower, and so on. So with r = 4 three levels that always wait get
 * 12, 3 and 1 of sixteen slots, and the lowest of ten still moves. Pure: a count goes in, places come
 * out.
 */
export interface Window {
  /** How many slots were filled before this window. */
  readonly filled: number
  /** How many there are to fill. */
  readonly free: number
  /** r: how many slots of a level there are to one of the next. */
  readonly ratio: number
  /** How many levels wait. */
  readonly ranks: number
}

/** For each rank, the best level first, its places in the window, from 1 up. */
export function placesByRank(window: Window): readonly (readonly number[])[] {
  const places = Array.from({ length: window.ranks }, (): number[] => [])
  for (let place = 1; place <= window.free; place += 1) {
    places[rankOf(window.filled + place, window)]?.push(place)
  }
  return places
}

/** Divided, not raised to a power: the tenth of a large ratio is beyond what a number holds. */
function rankOf(slot: number, { ratio, ranks }: Window): number {
  let rank = 0
  for (let rest = slot; rank < ranks - 1 && rest % ratio === 0; rest /= ratio) rank += 1
  return rank
}
