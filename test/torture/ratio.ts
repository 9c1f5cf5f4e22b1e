/**
 * A bound on a ratio of two things measured in one run. Machines differ and are noisy, so no gate
 * knows an absolute time.
 */
export interface Gate {
  readonly what: string
  readonly ratio: number
  readonly bound: 'at most' | 'at least'
  readonly limit: number
}

export function atMost(limit: number, what: string, ratio: number): Gate {
  return { what, ratio, bound: 'at most', limit }
}

export function atLeast(limit: number, what: string, ratio: number): Gate {
  return { what, ratio, bound: 'at least', limit }
}

/** A ratio that is no number holds no gate: nothing was measured. */
export function holds({ ratio, bound, limit }: Gate): boolean {
  return bound === 'at most' ? ratio <= limit : ratio >= limit
}

export function gateText(gate: Gate): string {
  const { what, ratio, bound, limit } = gate
  return `${holds(gate) ? 'holds ' : 'FAILED'}  ${what}: ${ratio.toFixed(2)}, ${bound} ${limit}`
}

/** NaN of nothing. */
export function median(values: readonly number[]): number {
  return quantile(values, 0.5)
}

/** The smallest value that has this share of all at or below it; NaN of nothing. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = Float64Array.from(values).toSorted()
  return sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? Number.NaN
}
