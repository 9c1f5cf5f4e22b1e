/** Chance that repeats: the same seed gives the same numbers, each in [0, 1). */
export type Random = () => number

export function seededRandom(seed: number): Random {
  let state = seed >>> 0
  return () => {
    // A linear congruential step, its bits mixed, since the low ones alone repeat soon.
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    const mixed = Math.imul(state ^ (state >>> 15), 0x2c1b3c6d)
    return ((mixed ^ (mixed >>> 12)) >>> 0) / 2 ** 32
  }
}

/** A whole number from `least` to `most`. */
export function between(random: Random, least: number, most: number): number {
  return least + Math.floor(random() * (most - least + 1))
}

/** One of them, each as likely as its weight says. */
export function pick<T>(random: Random, weighted: readonly (readonly [T, number])[]): T {
  const total = weighted.reduce((sum, [, weight]) => sum + weight, 0)
  let left = random() * total
  for (const [value, weight] of weighted) {
    left -= weight
    if (left < 0) return value
  }
  throw new RangeError('pick() got nothing to pick from; give it at least one weight above 0')
}
