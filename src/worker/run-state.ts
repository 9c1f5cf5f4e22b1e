import { decodeJson, encodeJson } from '../core/json.ts'
import { initialCarry } from '../jobs/carry.ts'
import type { Ask } from '../jobs/ask.ts'
import type { Definition } from '../jobs/definition.ts'
import type { Remarks } from './run.ts'

/**
 * What a handler does to its run, gathered until the run ends: remarks, the carry, a pause, and the
 * jobs to follow it.
 */
export interface RunState {
  readonly remarks: Remarks
  /** What the handler reads and assigns. */
  carry: unknown
  /** Set by a pause: in how many milliseconds the job is due again. */
  pausedForMs: number | null
  /** Settled inside a transaction of the run: nothing is left to settle. */
  isSettled: boolean
  /** A transaction was begun: there is one at most. */
  hasTransaction: boolean
  /** Follow-ups, some perhaps still being checked. */
  readonly followUps: Promise<Ask>[]
  /** The carry's text if it differs from what is stored; undefined where it does not. Throws where JSON cannot hold it. */
  changedCarry(): string | undefined
  /** What is stored is this now. */
  savedCarry(text: string): void
}

/** Throws where the stored carry cannot be read: then the job cannot be run at all. */
export function runState(
  definition: Definition,
  {
    input,
    stored,
    remarks,
  }: { readonly input: unknown; readonly stored: string | null; readonly remarks: Remarks },
): RunState {
  const hasCarry = definition.carry !== null
  const carry = stored === null ? initialCarry(definition, input) : decodeJson(stored)
  let saved = hasCarry ? (stored ?? encodeJson(carry)) : ''
  return {
    remarks,
    carry,
    pausedForMs: null,
    isSettled: false,
    hasTransaction: false,
    followUps: [],
    changedCarry() {
      if (!hasCarry) return undefined
      const text = encodeJson(this.carry)
      return text === saved ? undefined : text
    },
    savedCarry(text) {
      saved = text
    },
  }
}
