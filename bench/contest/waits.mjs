// Millions of waits in constant memory: buckets that grow by two per cent, so that a quantile is
// off by one per cent at most, from a hundredth of a millisecond to hours.
const SMALLEST_MS = 0.01
const GROWTH = Math.log(1.02)
const BUCKETS = 1_100

/** Waits of each slice of a run, and of all of it. */
export function waitsInSlices(slices) {
  const counts = Array.from({ length: slices }, () => new Uint32Array(BUCKETS))

  function add(ms, slice) {
    const bucket = Math.round(Math.log(Math.max(ms, SMALLEST_MS) / SMALLEST_MS) / GROWTH)
    const own = counts[Math.min(Math.max(slice, 0), slices - 1)]
    own[Math.min(bucket, BUCKETS - 1)] += 1
  }

  /** The wait that this share of them does not exceed; null where there is none. */
  function at(share, slice) {
    const chosen = slice === undefined ? counts : [counts[slice]]
    const total = chosen.reduce((sum, own) => sum + own.reduce((a, b) => a + b, 0), 0)
    if (total === 0) return null
    let left = Math.max(1, Math.ceil(share * total))
    for (let bucket = 0; bucket < BUCKETS; bucket += 1) {
      for (const own of chosen) left -= own[bucket]
      if (left <= 0) return SMALLEST_MS * Math.exp(bucket * GROWTH)
    }
    return null
  }

  return { add, at }
}
