import type { Duration } from '../core/duration.ts'
import { milliseconds } from '../core/duration.ts'
import { checkOptions } from '../core/names.ts'
import { InvalidOptionError, UnknownKindError } from '../errors.ts'
import { definitionOf } from '../jobs/definition.ts'
import type { JobKind } from '../jobs/kind.ts'
import { namesOf, queuesOf } from './options.ts'

/** Which jobs to claim, and for how long. */
export interface ClaimOptions<Kinds extends readonly JobKind[]> {
  /** Of these kinds only. */
  kinds: Kinds
  /** Default: the queues that the kinds name, `default` for those that name none. */
  queues?: readonly string[] | undefined
  /** How many at most, up to 500; 0 and less give nothing. Default 1. */
  limit?: number | undefined
  /** How long nobody else takes them. At most 24 days. Default: as each job says (`lease`). */
  lease?: Duration | undefined
  /**
   * Every verb of a handle is refused once its lease has ended. Default: a settlement is accepted
   * until somebody else takes the job.
   */
  strict?: boolean | undefined
}

/** Options checked and resolved. */
export interface CheckedClaim {
  readonly kinds: ReadonlyMap<string, JobKind>
  readonly queues: readonly string[]
  readonly limit: number
  readonly leaseMs: number | null
  readonly isStrict: boolean
}

const OPTIONS = ['kinds', 'queues', 'limit', 'lease', 'strict']
const LARGEST_LIMIT = 500
const LONGEST_LEASE = 24 * 86_400_000

/** Throws `InvalidOptionError`, `InvalidNameError` or `UnknownKindError`. */
export function checkClaim(options: ClaimOptions<readonly JobKind[]>): CheckedClaim {
  const given = checkOptions('claim()', options, OPTIONS)
  const { queues, lease } = options
  const kinds = kindsOf(given['kinds'])
  return {
    kinds,
    queues:
      queues === undefined ? queuesOf(kinds.values()) : namesOf(listOf<string>('queues', queues)),
    limit: limitOf(given['limit']),
    leaseMs: lease === undefined ? null : milliseconds('lease', lease, { max: LONGEST_LEASE }),
    isStrict: strictOf(given['strict']),
  }
}

function kindsOf(given: unknown): ReadonlyMap<string, JobKind> {
  const kinds = new Map<string, JobKind>()
  for (const kind of listOf<JobKind>('kinds', given)) {
    const { name } = definitionOf(kind)
    if (kinds.has(name)) throw new UnknownKindError(name, 'is there twice. Name each kind once.')
    kinds.set(name, kind)
  }
  if (kinds.size === 0) throw new InvalidOptionError('kinds', given, 'name at least one kind.')
  return kinds
}

function listOf<T>(option: string, given: unknown): readonly T[] {
  if (Array.isArray(given)) return given
  throw new InvalidOptionError(option, given, 'pass a list.')
}

function limitOf(limit: unknown = 1): number {
  if (typeof limit === 'number' && Number.isInteger(limit) && limit <= LARGEST_LIMIT) return limit
  throw new InvalidOptionError('limit', limit, `pass a whole number up to ${LARGEST_LIMIT}.`)
}

function strictOf(strict: unknown = false): boolean {
  if (typeof strict === 'boolean') return strict
  throw new InvalidOptionError('strict', strict, 'pass true or false.')
}
