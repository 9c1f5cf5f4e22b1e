import type { Clock } from '../core/clock.ts'
import type { Runner } from '../database/executor.ts'
import type { DatabaseError } from '../errors.ts'
import type { Ask } from './ask.ts'
import { whatAllSay } from './alike.ts'
import { askRow } from './ask-row.ts'
import { enqueueAlikeJobs, enqueueJobs, enqueueMissingJobs } from './enqueue-statements.ts'
import type { EnqueueParams } from './enqueue-statements.ts'
import type { EnqueueResult } from './job.ts'

/** Writes certain asks without a key by one statement; gives the ids that were not there before. */
export type Insert = (
  runner: Runner,
  given: Omit<EnqueueParams, 'asks'>,
) => Promise<ReadonlySet<string>>

/**
 * Whether they are new, or some may be in the database already: their ids were given, or they were
 * sent before. The text of the statement's rows is made here, before it is needed.
 */
export function insertFor(asks: readonly Ask[], isUncertain: boolean): Insert {
  if (isUncertain || asks.some(({ hasGivenId }) => hasGivenId)) return insertMissing(asks)
  const ids = new Set(asks.map(({ id }) => id))
  const insert = insertNew(asks)
  return async (runner, given) => {
    await insert(runner, given)
    return ids
  }
}

function insertNew(
  asks: readonly Ask[],
): (runner: Runner, given: Omit<EnqueueParams, 'asks'>) => Promise<unknown> {
  const alike = whatAllSay(asks)
  if (alike === null) {
    const rows = JSON.stringify(asks.map(askRow))
    return (runner, given) => runner.run(enqueueJobs, { ...given, asks: rows })
  }
  const rows = JSON.stringify(asks.map(({ id, payload }) => ({ id, payload })))
  return (runner, given) => runner.run(enqueueAlikeJobs, { ...given, ...alike, asks: rows })
}

function insertMissing(asks: readonly Ask[]): Insert {
  const rows = JSON.stringify(onceById(asks).map(askRow))
  return async (runner, given) => {
    const missing = await runner.run(enqueueMissingJobs, { ...given, asks: rows })
    return new Set(missing.map(({ id }) => id))
  }
}

/** Of asks with the same id the first. */
function onceById(asks: readonly Ask[]): readonly Ask[] {
  const firsts = new Map<string, Ask>()
  for (const ask of asks) if (!firsts.has(ask.id)) firsts.set(ask.id, ask)
  return firsts.size === asks.length ? asks : [...firsts.values()]
}

/** The answer to each ask, in order. The same id twice in one call: the first of the two was inserted. */
export function answers(
  asks: readonly Ask[],
  inserted: ReadonlySet<string>,
): readonly EnqueueResult[] {
  const answered = new Set<string>()
  return asks.map(({ id }): EnqueueResult => {
    const isNew = inserted.has(id) && !answered.has(id)
    answered.add(id)
    return { id, outcome: isNew ? 'inserted' : 'kept', asked: id }
  })
}

/** About what an ask adds to a statement: the payload dominates; names, the id and the rest are about 200 bytes. */
export function bytesOf(ask: Ask): number {
  return ask.payload.length + 200
}

// For how long an enqueue outlasts a database that is away.
const OUTLAST = 10_000

/** Until when a failed enqueue that begins now is repeated. */
export function untilOutlasted(clock: Clock): () => number {
  const end = clock.now() + OUTLAST
  return () => end
}

/**
 * Whether the failure of an ask with a key passes. Beside what always does: an ask with the same id
 * was committed and its job claimed between two looks of one statement; the next look finds it.
 */
export function passesForKeys({ retryable, sqlstate }: DatabaseError): boolean {
  return retryable || sqlstate === '23505'
}
