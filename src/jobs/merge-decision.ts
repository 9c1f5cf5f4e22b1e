import { decodeJson } from '../core/json.ts'
import { initialCarry } from './carry.ts'
import type { KeyLook } from './dedup-statements.ts'
import { encodeCarry, encodeInput, parseInput, readInput } from './input.ts'
import type { JournalEntry } from './job.ts'
import type { KeyedAsk } from './keyed-ask.ts'
import { decisionFrom } from './merge-rule.ts'

/** What an ask does to the pending job it met, as texts ready to be written. */
export type MergeStep =
  | { readonly type: 'keep' }
  | { readonly type: 'independent' }
  | { readonly type: 'replace'; readonly payload: string }
  | { readonly type: 'merge'; readonly payload: string; readonly carry: string | null }

export interface MergeContext {
  readonly maxPayload: number
  /** The journal of the job, asked for only when a merge function will see it. */
  readonly journal: (id: string) => Promise<readonly JournalEntry[]>
}

/**
 * Decides between a pending job and the ask that met it (D2). What the merge function throws is the
 * asker's error, and the job stays as it was. A job whose stored input or carry cannot be read any
 * more does not stand in the way: a replacement overwrites it, and a function, which could not be
 * shown it, is not asked: the ask becomes a job of its own (D6). So it does beside a job whose body
 * is missing, which nothing can mend.
 */
export async function mergeStep(
  ask: KeyedAsk,
  look: KeyLook & { readonly job_id: string },
  context: MergeContext,
): Promise<MergeStep> {
  const { definition, mode } = ask.keyed
  const { merge } = definition
  const { payload: stored } = look
  if (stored === null) return { type: 'independent' }
  // The latest input of a debounced key counts, whatever else the kind says.
  if (mode.type === 'debounce' || merge === 'replace')
    return { type: 'replace', payload: ask.payload }
  if (typeof merge === 'string') return { type: merge }
  const existing = await existingSide(ask, { ...look, payload: stored })
  if (existing === null) return { type: 'independent' }
  const journal = await context.journal(look.job_id)
  const hasCarry = definition.carry !== null
  const decision = decisionFrom(merge({ ...existing, journal }, incomingSide(ask)), hasCarry)
  if (decision === 'replace') return { type: 'replace', payload: ask.payload }
  if (typeof decision === 'string') return { type: decision }
  const payload = encodeInput(definition, decision.input, context.maxPayload)
  // Would the handler be able to read it? Better the asker's error now than a dead job later.
  await parseInput(definition, decision.input)
  return {
    type: 'merge',
    payload,
    carry: hasCarry ? encodeCarry(definition, decision.carry) : null,
  }
}

async function existingSide(
  { keyed: { definition } }: KeyedAsk,
  look: KeyLook & { readonly job_id: string; readonly payload: string },
): Promise<object | null> {
  try {
    const parsed: unknown = await readInput(definition, look.payload)
    const carry = look.carry === null ? initialCarry(definition, parsed) : decodeJson(look.carry)
    const input = inputOf(look.payload)
    return { id: look.job_id, run: look.run ?? 0, failures: look.failures ?? 0, input, carry }
  } catch {
    return null
  }
}

function incomingSide({ payload, keyed }: KeyedAsk): object {
  const carry = initialCarry(keyed.definition, keyed.parsed)
  // A copy, so that a function that writes to what it is shown changes nothing of the caller's.
  return { input: inputOf(payload), carry }
}

// "No input" is stored as JSON null.
function inputOf(payload: string): unknown {
  return decodeJson(payload) ?? undefined
}
