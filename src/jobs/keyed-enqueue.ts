import type { Runner } from '../database/executor.ts'
import { DatabaseError } from '../errors.ts'
import type { KeyLook } from './dedup-statements.ts'
import { lookAtKey, mergeIntoKey } from './dedup-statements.ts'
import type { EnqueueResult } from './job.ts'
import { lockKey } from './key-statements.ts'
import { folded, inserted, keyedRows, keyParams } from './keyed-ask.ts'
import type { KeyedAsk } from './keyed-ask.ts'
import { mergeStep } from './merge-decision.ts'
import type { MergeContext, MergeStep } from './merge-decision.ts'
import { placeIndependent, placeKeyed } from './place-statements.ts'
import { announceRerun } from './rerun-statements.ts'
import { throttled } from './throttled-ask.ts'

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
  /** It was tried to be placed already, and met something. */
  readonly isMet?: boolean | undefined
}

// Each further attempt means that somebody else got on with the key.
const ATTEMPTS = 100

export async function enqueueKeyed(
  ask: KeyedAsk,
  runner: Runner,
  context: KeyedContext,
): Promise<EnqueueResult> {
  const meet = meetingOf(ask, context)
  if (ask.keyed.mode.type === 'live') await runner.run(lockKey, keyParams(ask))
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    const result = await meet(ask, runner, context)
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
  const rows = await runner.run(placeKeyed, { asks: keyedRows(asks), ...timing(context) })
  return new Set(rows.map(({ id }) => id))
}

/** One attempt. Null: what it met moved on meanwhile, begin again. */
type Meeting = (
  ask: KeyedAsk,
  runner: Runner,
  context: KeyedContext,
) => Promise<EnqueueResult | null>

function meetingOf({ keyed: { mode } }: KeyedAsk, { isMet }: KeyedContext): Meeting {
  if (mode.type === 'throttle') return throttled
  // Of a live key everything is decided by the look: a pending job that is claimed between a look
  // and a placement would get a twin.
  return mode.type === 'live' || isMet === true ? lookFirst : placeFirst
}

async function placeFirst(
  ask: KeyedAsk,
  runner: Runner,
  context: KeyedContext,
): Promise<EnqueueResult | null> {
  return (await place(ask, runner, context)) ?? lookFirst(ask, runner, context)
}

async function lookFirst(
  ask: KeyedAsk,
  runner: Runner,
  context: KeyedContext,
): Promise<EnqueueResult | null> {
  const { mode } = ask.keyed
  const [look = NOTHING] = await runner.run(lookAtKey, { id: ask.id, ...keyParams(ask) })
  const earlier = earlierResult(ask, look, context)
  if (earlier !== null) return earlier
  if (mode.type === 'live' && look.running !== null) {
    if (!mode.rerun) return folded(ask, look.running, 'kept')
    if (look.job_id === null) return placeRerun(ask, runner, context)
  }
  if (hasCandidate(look)) return mergeInto(ask, look, { runner, context })
  return place(ask, runner, context)
}

async function place(
  ask: KeyedAsk,
  runner: Runner,
  context: KeyedContext,
): Promise<EnqueueResult | null> {
  return (await placeAll([ask], runner, context)).has(ask.id) ? inserted(ask) : null
}

async function placeRerun(
  ask: KeyedAsk,
  runner: Runner,
  context: KeyedContext,
): Promise<EnqueueResult | null> {
  const rows = await runner.run(placeKeyed, { asks: keyedRows([ask], true), ...timing(context) })
  if (rows.length === 0) return null
  await runner.run(announceRerun, { hint_until: context.hintUntil() })
  return inserted(ask)
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

/** What an earlier ask with the same id came to: `kept`, unless it was this very call (E2, M8). */
function earlierResult(
  ask: KeyedAsk,
  look: KeyLook,
  { isUncertain, askedAt }: KeyedContext,
): EnqueueResult | null {
  const isOwn = (at: number | null): boolean => isUncertain && at === Date.parse(askedAt)
  if (look.repeated !== null) {
    return isOwn(look.repeated_at) ? inserted(ask) : folded(ask, ask.id, 'kept')
  }
  if (look.merged_into === null) return null
  const { merged_as: decision } = look
  const isNew = isOwn(look.merged_at) && (decision === 'replace' || decision === 'merge')
  return folded(ask, look.merged_into, isNew ? OUTCOMES[decision] : 'kept')
}

type Candidate = KeyLook & {
  readonly job_id: string
  readonly row_place: string
  readonly row_version: string
}

function hasCandidate(look: KeyLook): look is Candidate {
  return look.job_id !== null && look.row_place !== null && look.row_version !== null
}

function timing({ hintUntil, askedAt }: Pick<KeyedContext, 'hintUntil' | 'askedAt'>): {
  hint_until: string
  asked_at: string
} {
  return { hint_until: hintUntil(), asked_at: askedAt }
}

const NOTHING: KeyLook = {
  repeated: null,
  repeated_at: null,
  merged_into: null,
  merged_as: null,
  merged_at: null,
  running: null,
  job_id: null,
  row_place: null,
  row_version: null,
  run: null,
  failures: null,
  payload: null,
  carry: null,
}
