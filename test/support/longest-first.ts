import { BaseSequencer } from 'vitest/node'
import type { TestSpecification } from 'vitest/node'

// Where nothing is known of an earlier run, vitest begins with the largest files: those of a few
// lines that start processes would come last, one after the other beside nothing.
const LONG = [
  /\/test\/(docs|processes|torture|properties)\//,
  /\/test\/(cli\/demo|worker\/outage)\./,
]

/** Begins with the files that take longest, so that nobody waits for the last of them. */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    // oxlint-disable-next-line unicorn/no-array-sort -- vitest's own method, not that of an array
    const sorted = await super.sort(files)
    return sorted.toSorted((one, other) => rank(one) - rank(other))
  }
}

function rank({ moduleId }: TestSpecification): number {
  return LONG.some((pattern) => pattern.test(moduleId)) ? 0 : 1
}
