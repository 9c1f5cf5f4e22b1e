import { startServer } from '../support/postgres-server.ts'
import { lifeMill } from '../properties/lifecycle-mill.ts'
import { holdAgainstModel } from '../properties/lifecycle-property.ts'
import type { Counts } from '../properties/lifecycle-sequence.ts'

export interface LifecycleOptions {
  readonly seed: number
  readonly sequences: number
}

/**
 * The model of a job's life against the real thing, as in `test/properties`, in many more and longer
 * sequences. Throws with the shortest script found when the two part.
 */
export async function lifecycle({ seed, sequences }: LifecycleOptions): Promise<Counts> {
  await using server = await startServer({ settings: { max_connections: '50' } })
  await using mill = await lifeMill(await server.createDatabase('lifecycle'))
  // Awaited here: the mill ends with this function.
  return await holdAgainstModel(mill, { seed, sequences, longest: 120 })
}

/** Told in lines, what was done most first. */
export function countsText({ sequences, acts, runs, by }: Counts): string {
  const rows = [...by].toSorted(([, a], [, b]) => b - a)
  const lines = rows.map(([what, count]) => `  ${String(count).padStart(9)} ${what}`)
  return [
    `${sequences} sequences, ${acts} acts, ${runs} runs begun; after each act the answer, every job and the invariants were as the model says`,
    ...lines,
  ].join('\n')
}
