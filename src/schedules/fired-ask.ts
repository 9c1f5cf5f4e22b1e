import type { Ask } from '../jobs/ask.ts'
import { PENDING } from '../jobs/dedup.ts'
import type { DedupMode } from '../jobs/dedup.ts'
import { definitionOf } from '../jobs/definition.ts'
import type { Definition } from '../jobs/definition.ts'
import { readInput } from '../jobs/input.ts'
import { defineJob } from '../jobs/kind.ts'
import type { JobKind } from '../jobs/kind.ts'
import { decodePolicy } from '../jobs/policy.ts'
import type { BegunRow } from './fire-statements.ts'

/** The kinds that are defined here, by name. */
export type KnownKinds = ReadonlyMap<string, JobKind>

/**
 * The ask of a fire with a key, as its row holds it. Words of `merge` are in the row; a function is
 * not, so such a schedule is fired by workers that handle its kind. Run by hand from elsewhere, or
 * where the kind of this release cannot read the input any more, its job is one of its own beside
 * the one that it would have met: there is nobody to tell, and nothing is to be lost.
 */
export async function askOf(
  row: BegunRow & { readonly id: string },
  kinds: KnownKinds,
): Promise<Ask> {
  const policy = decodePolicy(row.options)
  const { definition, parsed } = await mergingOf(row, kinds)
  return {
    id: row.id,
    hasGivenId: false,
    kind: row.kind,
    queue: row.queue,
    payload: row.payload,
    priority: row.priority,
    leaseMs: row.lease_ms,
    expiresAfterMs: row.expires_after_ms,
    expiresAt: null,
    delayMs: null,
    at: null,
    policy,
    policyText: row.options,
    keyed: { key: row.dedup_key, mode: modeFrom(row.dedup), definition, parsed },
  }
}

interface Merging {
  readonly definition: Definition
  readonly parsed: unknown
}

async function mergingOf(row: BegunRow, kinds: KnownKinds): Promise<Merging> {
  const { merge } = row
  if (merge === 'keep' || merge === 'replace') return byWord(row.kind, merge)
  const kind = kinds.get(row.kind)
  if (merge !== 'function' || kind === undefined) return byWord(row.kind, 'independent')
  try {
    const definition = definitionOf(kind)
    const parsed: unknown = await readInput(definition, row.payload)
    return { definition, parsed }
  } catch {
    return byWord(row.kind, 'independent')
  }
}

function byWord(kind: string, merge: 'keep' | 'replace' | 'independent'): Merging {
  return { definition: definitionOf(defineJob(kind, { merge })), parsed: undefined }
}

/** As `register_schedule` stored it; a mode of a later release counts as the plain one. */
function modeFrom(text: string): DedupMode {
  const stored: Readonly<Record<string, unknown>> = JSON.parse(text)
  const { type, rerun, windowMs, atMostMs } = stored
  if (type === 'live') return { type, rerun: rerun === true }
  if (type === 'throttle' && typeof windowMs === 'number') return { type, windowMs }
  if (type === 'debounce' && typeof windowMs === 'number') {
    return { type, windowMs, atMostMs: typeof atMostMs === 'number' ? atMostMs : null }
  }
  return PENDING
}
