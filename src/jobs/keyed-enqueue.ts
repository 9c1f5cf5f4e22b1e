import type { Runner } from '../database/executor.ts'
import { DatabaseError } from '../errors.ts'
import type { EnqueueResult } from './job.ts'
import type { KeyLook } from './dedup-statements.ts'
import { lookAtKey, mergeIntoKey, placeIndependent, placeKeyed } from './dedup-statements.ts'
import { lockKey, throttleAsk } from './key-statements.ts'
import { keyedRows } from './keyed-ask.ts'
import type { KeyedAsk } from './keyed-ask.ts'
import { mergeStep } from './merge-decision.ts'
import type { MergeContext, MergeStep } from './merge-decision.ts'

/**
 * Asks with a key (D1–D7). Place first: the first ask of a key gets its place by a unique index, in
 * one statement. One that gets none looks at what it met, decides in JavaScript, and writes under
 * the version of the row that it looked at; whatever moved in between makes that write miss, and the
 * ask begins again. So an ask is never lost, never blind, and never merged into a run that began.
 */
export interface KeyedContext extends MergeContext {
  readonly hintUntil: () => string
  /** The instant of the ask: the same where the call is repeated. */
  readonly askedAt: string
  /** An earlier try may have taken effect: the ask's own job is known by the instant (M8). */
  readonly isUncertain: boolean
}

// Each further attempt means that somebody else got on with the key.
const ATTEMPTS = 100

export async function enqueueKeyed(
  ask: KeyedAsk,
  runner: Runner,
  context: KeyedContext,
): Promise<EnqueueResult> {
  const { mode } = ask.keyed
  if (mode.type === 'live') await runner.run(lockKey, keyParams(ask))
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    const result =
      mode.type === 'throttle'
        ? await throttled(ask, runner, context)
        : await placedOrMerged(ask, runner, context)
    if (result !== null) return result
  }
  throw new DatabaseError(
    `jobs of kind "${ask.kind}" with this key moved ${ATTEMPTS} times while one ask looked at them. Try again.`,
    { sqlstate: null, statement: mergeIntoKey.name, retryable: true, outcomeUnknown: false },
  )
}

/** Places what needs no merge, many at once; gives the ids that were placed. */
export async function placeAll(
  asks: readonly KeyedAsk[],
  runner: Runner,
  context: Pick<KeyedContext, 'hintUntil' | 'askedAt'>,
): Promise<ReadonlySet<string>> {
  const rows = await runner.run(placeKeyed, {
    asks: keyedRows(asks),
    ...timing(context),
  })
  return new Set(rows.map(({ id }) => id))
}

/** Meets the job of an ask that `placeAll` did not place; null: it is gone, begin again. */
async function placedOrMerged(
  ask: KeyedAsk,
  runner: Runner,
  context: KeyedContext,
): Promise<EnqueueResult | null> {
  const { mode } = ask.keyed
  if (mode.type === 'live') {
    const look = await lookOf(ask, runner)
    if (look.running !== null && look.repeated === null) {
      if (!mode.rerun) return folded(ask, look.running, 'kept')
      if (look.job_id === null) return placeRerun(ask, runner, context)
    }
  }
  if ((await placeAll([ask], runner, context)).has(ask.id)) return inserted(ask)
  const look = await lookOf(ask, runner)
  const earlier = earlierResult(ask, look, context)
  if (earlier !== null) return earlier
  return hasCandidate(look) ? mergeInto(ask, look, { runner, context }) : null
}

async function mergeInto(
  ask: KeyedAsk,
  look: Candidate,
  { runner, context }: { readonly runner: Runner; readonly context: KeyedContext },
): Promise<EnqueueResult | null> {
  const step = await mergeStep(ask, look, context)
  if (step.type === 'independent') {
    await runner.run(placeIndependent, { asks: keyedRows([ask]), ...timing(context) })
    return inserted(ask)
  }
  const { mode } = ask.keyed
  const [changed] = await runner.run(mergeIntoKey, {
    ask: keyedRows([ask]),
    job_id: look.job_id,
    row_place: look.row_place,
    row_version: look.row_version,
    decision: step.type,
    payload: step.type === 'keep' ? null : step.payload,
    carry: step.type === 'merge' ? step.carry : null,
    debounce_ms: mode.type === 'debounce' ? mode.windowMs : null,
    at_most_ms: mode.type === 'debounce' ? mode.atMostMs : null,
    ...timing(context),
  })
  return changed === undefined ? null : folded(ask, changed.job_id, OUTCOMES[step.type])
}

const OUTCOMES: Readonly<
  Record<Exclude<MergeStep['type'], 'independent'>, EnqueueResult['outcome']>
> = {
  keep: 'kept',
  replace: 'replaced',
  merge: 'merged',
}

async function placeRerun(
  ask: KeyedAsk,
  runner: Runner,
  context: KeyedContext,
): Promise<EnqueueResult | null> {
  const rows = await runner.run(placeKeyed, { asks: keyedRows([ask], true), ...timing(context) })
  return rows.length > 0 ? inserted(ask) : null
}

async function throttled(
  ask: KeyedAsk,
  runner: Runner,
  context: KeyedContext,
): Promise<EnqueueResult | null> {
  const { mode } = ask.keyed
  const [row] = await runner.run(throttleAsk, {
    asks: keyedRows([ask]),
    window_ms: mode.type === 'throttle' ? mode.windowMs : 0,
    ...timing(context),
  })
  if (row === undefined) return null
  const isOwn = row.is_new || (context.isUncertain && row.job_id === ask.id)
  return isOwn ? inserted(ask) : folded(ask, row.job_id, 'kept')
}

/** What an earlier ask with the same id came to (E2). */
function earlierResult(
  ask: KeyedAsk,
  look: KeyLook,
  { isUncertain, askedAt }: KeyedContext,
): EnqueueResult | null {
  if (look.repeated !== null) {
    const isOwn = isUncertain && look.repeated_at === Date.parse(askedAt)
    return isOwn ? inserted(ask) : folded(ask, ask.id, 'kept')
  }
  if (look.merged_into === null) return null
  const decision = look.merged_as
  const outcome = decision === 'replace' ? 'replaced' : decision === 'merge' ? 'merged' : 'kept'
  return folded(ask, look.merged_into, outcome)
}

async function lookOf(ask: KeyedAsk, runner: Runner): Promise<KeyLook> {
  const [look] = await runner.run(lookAtKey, { id: ask.id, ...keyParams(ask) })
  return look ?? NOTHING
}

type Candidate = KeyLook & {
  readonly job_id: string
  readonly row_place: string
  readonly row_version: string
}

function hasCandidate(look: KeyLook): look is Candidate {
  return look.job_id !== null && look.row_place !== null && look.row_version !== null
}

function keyParams(ask: KeyedAsk): { kind: string; dedup_key: string } {
  return { kind: ask.kind, dedup_key: ask.keyed.key }
}

function timing({ hintUntil, askedAt }: Pick<KeyedContext, 'hintUntil' | 'askedAt'>): {
  hint_until: string
  now: string
} {
  return { hint_until: hintUntil(), now: askedAt }
}

function inserted(ask: KeyedAsk): EnqueueResult {
  return { id: ask.id, outcome: 'inserted', asked: ask.id }
}

function folded(ask: KeyedAsk, id: string, outcome: EnqueueResult['outcome']): EnqueueResult {
  return { id, outcome, asked: ask.id }
}

const NOTHING: KeyLook = {
  repeated: null,
  repeated_at: null,
  merged_into: null,
  merged_as: null,
  running: null,
  job_id: null,
  row_place: null,
  row_version: null,
  run: null,
  failures: null,
  payload: null,
  carry: null,
}
