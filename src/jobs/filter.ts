import { arrayText } from '../core/array-text.ts'
import { instantText } from '../core/instant-text.ts'
import { instant } from '../core/instant.ts'
import { checkOptions } from '../core/names.ts'
import { InvalidOptionError } from '../errors.ts'
import type { FilterParams } from './inspect-statements.ts'
import type { JobFilter, JobState } from './job.ts'

/** A filter checked and encoded for the listing statements. */
export interface FilterQuery {
  readonly params: FilterParams
  /** Whether a job of the places that are looked at may not match: then a page looks at more jobs than it gives. */
  readonly isFiltered: boolean
}

export const STATES: readonly JobState[] = ['pending', 'running', 'completed', 'dead', 'cancelled']

const ENDED: readonly JobState[] = ['completed', 'dead', 'cancelled']

export const FILTER_OPTIONS: readonly string[] = [
  'kind',
  'queue',
  'state',
  'createdAfter',
  'createdBefore',
  'finishedAfter',
  'finishedBefore',
  'dedupKey',
  'schedule',
  'text',
]

export function filterParams(filter: JobFilter): FilterQuery {
  checkOptions('filter', filter, FILTER_OPTIONS)
  const states = statesOf(filter)
  const kinds = listOf(filter.kind)?.map((kind) => (typeof kind === 'string' ? kind : kind.name))
  const rest = {
    kinds: arrayOrNull(kinds),
    queues: arrayOrNull(listOf(filter.queue)),
    created_after: instantOrNull('createdAfter', filter.createdAfter),
    created_before: instantOrNull('createdBefore', filter.createdBefore),
    finished_after: instantOrNull('finishedAfter', filter.finishedAfter),
    finished_before: instantOrNull('finishedBefore', filter.finishedBefore),
    dedup_key: textOrNull('dedupKey', filter.dedupKey),
    schedule: textOrNull('schedule', filter.schedule),
    text: textOrNull('text', filter.text),
  }
  const isFiltered = isSomeEnd(states) || Object.values(rest).some((value) => value !== null)
  return { params: { ...rest, states: arrayText(states) }, isFiltered }
}

/** The states that a filter asks for: all, where it says none. Throws `InvalidOptionError`. */
export function statesOf({ state: given }: JobFilter): readonly JobState[] {
  const states = listOf(given) ?? STATES
  for (const state of states) {
    if (!STATES.includes(state)) {
      throw new InvalidOptionError('state', state, `give one of ${STATES.join(', ')}`)
    }
  }
  return states
}

// Ended jobs stand in one place, in order of their ids whatever their state.
function isSomeEnd(states: readonly JobState[]): boolean {
  const wanted = ENDED.filter((state) => states.includes(state)).length
  return wanted > 0 && wanted < ENDED.length
}

function listOf<T>(value: T | readonly T[] | undefined): readonly T[] | undefined {
  if (value === undefined) return undefined
  return isList(value) ? value : [value]
}

function isList<T>(value: T | readonly T[]): value is readonly T[] {
  return Array.isArray(value)
}

function arrayOrNull(texts: readonly string[] | undefined): string | null {
  return texts === undefined ? null : arrayText(texts)
}

function instantOrNull(option: string, value: Date | undefined): string | null {
  return value === undefined ? null : instantText(instant(option, value))
}

function textOrNull(option: string, value: string | undefined): string | null {
  if (value === undefined) return null
  if (typeof value !== 'string' || value.includes('\u0000')) {
    throw new InvalidOptionError(option, value, 'pass text without U+0000')
  }
  return value
}
