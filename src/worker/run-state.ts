import { decodeJson, encodeJson } from '../core/json.ts'
import { initialCarry } from '../jobs/carry.ts'
import type { Ask } from '../jobs/ask.ts'
import type { Definition } from '../jobs/definition.ts'

/**
 * What a handler does to its run, gathered until the run ends: remarks, the carry, a pause, and the
 * jobs to follow it.
 */
export class RunState {
  /** What the handler reads and assigns. */
  carry: unknown
  /** Set by a pause: in how many milliseconds the job is due again. */
  pausedForMs: number | null = null
  /** Follow-ups, some perhaps still being checked. */
  readonly followUps: Promise<Ask>[] = []
  /** Checkpoints, some perhaps still being written. */
  readonly saves: Promise<void>[] = []
  /** The carry as it is stored; null where the kind declares none. */
  #saved: string | null

  constructor(carry: unknown, saved: string | null) {
    this.carry = carry
    this.#saved = saved
  }

  /** The carry's text if it differs from what is stored; undefined where it does not. Throws where JSON cannot hold it. */
  changedCarry(): string | undefined {
    if (this.#saved === null) return undefined
    const text = carryText(this.carry)
    return text === this.#saved ? undefined : text
  }

  /** What is stored is this now. */
  savedCarry(text: string): void {
    this.#saved = text
  }
}

/** Throws where the stored carry cannot be read, or the kind's own function fails at the first one. */
export function runState(definition: Definition, input: unknown, stored: string | null): RunState {
  const carry = stored === null ? initialCarry(definition, input) : decodeJson(stored)
  return new RunState(carry, definition.carry === null ? null : (stored ?? encodeJson(carry)))
}

/**
 * Every follow-up once it is checked, also those that are asked for meanwhile. Rejects where one is
 * refused, awaited by the handler or not.
 */
export async function checkedFollowUps({ followUps }: RunState): Promise<readonly Ask[]> {
  if (followUps.length === 0) return []
  for (;;) {
    const asks = await Promise.all(followUps)
    if (asks.length === followUps.length) return asks
  }
}

/** Checkpoints that nobody awaited come before the settlement; whether they failed is not its business. */
export async function allSaved({ saves }: RunState): Promise<void> {
  if (saves.length > 0) await Promise.allSettled(saves)
}

/** JSON cannot hold the carry; `cause` says where. */
export class UnstorableCarryError extends TypeError {}

function carryText(carry: unknown): string {
  try {
    return encodeJson(carry)
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause)
    throw new UnstorableCarryError(`the carry cannot be stored: ${why}`, { cause })
  }
}
