import * as fc from 'fast-check'
import { draws } from './lifecycle-acts.ts'
import type { Draw } from './lifecycle-acts.ts'
import type { LifeMill } from './lifecycle-mill.ts'
import { sequence } from './lifecycle-sequence.ts'
import type { Counts } from './lifecycle-sequence.ts'

export interface LifeOptions {
  readonly sequences: number
  /** Acts of the longest one. */
  readonly longest: number
  readonly seed?: number
}

// A minute of it finds most of what is to be found.
const SHRINK_FOR = 60_000

/**
 * Draws sequences and holds each against the model. Throws with the shortest that was found where
 * the two part, as a script; what is done at once may go either way when it is done again.
 */
export async function holdAgainstModel(mill: LifeMill, options: LifeOptions): Promise<Counts> {
  const { sequences, longest, seed } = options
  const counts: Counts = { sequences: 0, acts: 0, runs: 0, by: new Map() }
  const drawn = fc.array(draws, {
    minLength: Math.ceil(longest / 4),
    maxLength: longest,
    size: 'max',
  })
  let shrinkUntil = Number.POSITIVE_INFINITY
  async function holds(each: readonly Draw[]): Promise<void> {
    // Time is up: nothing shorter is found any more, and the shrinking ends.
    if (performance.now() > shrinkUntil) return
    try {
      await sequence(mill, each, counts)
    } catch (error) {
      shrinkUntil = Math.min(shrinkUntil, performance.now() + SHRINK_FOR)
      throw error
    }
  }
  const details = await fc.check(fc.asyncProperty(drawn, holds), {
    numRuns: sequences,
    ...(seed === undefined ? {} : { seed }),
  })
  if (!details.failed) return counts
  const { errorInstance, counterexamplePath, numShrinks } = details
  const reason = errorInstance instanceof Error ? errorInstance.message : String(errorInstance)
  throw new Error(
    `the mill did not do as the model (seed ${details.seed}, path "${counterexamplePath}", shrunk ${numShrinks} times):${reason}`,
    { cause: errorInstance },
  )
}
