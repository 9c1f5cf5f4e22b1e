import type { OneOf } from '../core/one-of.ts'
import type { Duration } from '../core/duration.ts'
import type { JournalEntry } from './job.ts'

/** A dedup key, or how to make one from the parsed input; undefined: this ask has none. */
export type DedupKey<In> = string | ((input: In) => string | undefined)

/**
 * Which jobs of a kind are the same, and what to do with an ask that meets one.
 *
 * - a key alone, or `scope: 'pending'`: an ask folds into the oldest pending job of its key (`merge`);
 * - `scope: 'live'`: it also counts a running one, and then answers that one's id; with `rerun` the
 *   ask waits and runs once after it;
 * - `throttle`: at most one job per key and window;
 * - `debounce`: due when the key was quiet for the window, with the latest input; `atMost` after the first ask.
 */
export type Dedup<In> =
  | DedupKey<In>
  | OneOf<
      | { key: DedupKey<In>; scope?: 'pending' | undefined }
      | { key: DedupKey<In>; scope: 'live'; rerun?: boolean | undefined }
      | { key: DedupKey<In>; throttle: Duration }
      | { key: DedupKey<In>; debounce: Duration; atMost?: Duration | undefined }
    >

export interface MergeSide<In, Carry> {
  readonly input: In
  readonly carry: Carry
}

export interface MergeExisting<In, Carry> extends MergeSide<In, Carry> {
  readonly id: string
  /** Runs begun. */
  readonly run: number
  readonly failures: number
  readonly journal: readonly JournalEntry[]
}

type Merged<In, Carry> = [Carry] extends [undefined] ? { input: In } : { input: In; carry: Carry }

export type MergeDecision<In, Carry> = 'keep' | 'replace' | 'independent' | Merged<In, Carry>

/**
 * What becomes of a pending job when an ask with its key comes: `keep` it, `replace` its input (the
 * default), let both be (`independent`), or decide by a function, which must not be asynchronous.
 * Both sides have the shape that is stored, not the schema's output.
 */
export type Merge<In, Carry> =
  | 'keep'
  | 'replace'
  | 'independent'
  | ((
      existing: MergeExisting<In, Carry>,
      incoming: MergeSide<In, Carry>,
    ) => MergeDecision<In, Carry>)
