import { defineJob, typed } from '../../src/index.ts'
import type { JobKind, JobOptions } from '../../src/index.ts'

/** The kinds of the model's jobs: one for every way in which asks of one key meet. */
export type KindName = 'plain' | 'folds' | 'live' | 'rerun' | 'throttled' | 'debounced'

export interface Input {
  readonly key: string
  /** Decides, for `folds`, what becomes of an ask that meets a pending job. */
  readonly v: number
}

export interface Carry {
  readonly n: number
}

export type LifeKind = JobKind<{
  name: string
  input: Input
  parsed: Input
  carry: Carry
  result: unknown
}>

/** What all of them are stamped with, in the model and in their definitions. */
export const LIMIT = 3
export const BACKOFF_BASE = 7_000
export const KEEP = { completed: 120_000, cancelled: 180_000, dead: 240_000 } as const
export const WINDOW = 40_000
export const AT_MOST = 90_000
/** The carry of a first run. */
export const FIRST_CARRY = 0

/** How `folds` decides; the others replace. */
export function decisionOf(v: number): 'keep' | 'replace' | 'independent' | 'merge' {
  return (['keep', 'replace', 'independent', 'merge'] as const)[v % 4] ?? 'keep'
}

const STAMPED = {
  input: typed<Input>(),
  carry: { n: FIRST_CARRY },
  retry: { failures: LIMIT, backoff: { type: 'linear', base: BACKOFF_BASE, jitter: 0 } },
  keep: KEEP,
} satisfies JobOptions<ReturnType<typeof typed<Input>>, Carry, never>

const key = (input: Input): string => input.key

export const KINDS: Readonly<Record<KindName, LifeKind>> = {
  plain: defineJob('plain', STAMPED),
  folds: defineJob('folds', {
    ...STAMPED,
    dedup: key,
    merge: (existing, { input }) => {
      const decision = decisionOf(input.v)
      if (decision !== 'merge') return decision
      return {
        input: { key: input.key, v: existing.input.v + input.v },
        carry: { n: existing.carry.n + 1 },
      }
    },
  }),
  live: defineJob('live', { ...STAMPED, dedup: { key, scope: 'live' } }),
  rerun: defineJob('rerun', { ...STAMPED, dedup: { key, scope: 'live', rerun: true } }),
  throttled: defineJob('throttled', { ...STAMPED, dedup: { key, throttle: WINDOW } }),
  debounced: defineJob('debounced', {
    ...STAMPED,
    dedup: { key, debounce: WINDOW, atMost: AT_MOST },
  }),
}
