import type { Ask, Keyed } from './ask.ts'
import { askRow } from './ask-row.ts'
import type { EnqueueResult } from './job.ts'
import type { KeyedRow } from './place-statements.ts'

export type KeyedAsk = Ask & { readonly keyed: Keyed }

export function isKeyed(ask: Ask): ask is KeyedAsk {
  return ask.keyed !== null
}

/** Asks as the keyed statements take them. */
export function keyedRows(asks: readonly KeyedAsk[], isRerun = false): string {
  return JSON.stringify(
    asks.map((ask): KeyedRow => ({
      ...askRow(withDebounce(ask)),
      dedup_key: ask.keyed.key,
      ...(isRerun ? { is_rerun: true } : {}),
    })),
  )
}

export function keyParams(ask: KeyedAsk): { kind: string; dedup_key: string } {
  return { kind: ask.kind, dedup_key: ask.keyed.key }
}

/** The answer to an ask that became a job of its own. */
export function inserted(ask: KeyedAsk): EnqueueResult {
  return { id: ask.id, outcome: 'inserted', asked: ask.id }
}

/** The answer to an ask that another job stands for. */
export function folded(
  ask: KeyedAsk,
  id: string,
  outcome: EnqueueResult['outcome'],
): EnqueueResult {
  return { id, outcome, asked: ask.id }
}

/** Keys in the order in which they are locked, whoever asks (M6); equal keys stay in the order of the call. */
export function byKey(a: KeyedAsk, b: KeyedAsk): number {
  return compare(a.kind, b.kind) || compare(a.keyed.key, b.keyed.key)
}

// The first ask of a debounced key is due when its window is over.
function withDebounce(ask: KeyedAsk): Ask {
  const { mode } = ask.keyed
  if (mode.type !== 'debounce') return ask
  const windowMs = Math.min(mode.windowMs, mode.atMostMs ?? mode.windowMs)
  return { ...ask, delayMs: windowMs, at: null }
}

// As collate "C" orders what Buffers hold: bytes, which for text is code points.
function compare(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a), Buffer.from(b))
}
