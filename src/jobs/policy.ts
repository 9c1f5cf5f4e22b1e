import type { Curve } from '../core/backoff.ts'
import { BACKOFF_TYPES, DEFAULT_CURVE } from '../core/backoff.ts'
import { decodeJson } from '../core/json.ts'

/** What decides about a job after each of its runs, stamped on it at enqueue. */
export interface Policy {
  /** The job is dead at this failure. */
  readonly failures: number
  readonly backoff: Curve
  /** For how long a claim holds the job without a renewal. */
  readonly leaseMs: number
  /** How long a run may take; null is without limit. */
  readonly timeoutMs: number | null
  /** How long the record stays after the end, in milliseconds; null is for ever. */
  readonly keep: Kept
}

export interface Kept {
  readonly completed: number | null
  readonly cancelled: number | null
  readonly dead: number | null
}

const DAY = 86_400_000

/**
 * Rows hold only what differs from this, most of them nothing. So it is part of the stored format:
 * a release that changed it would change the jobs of its predecessors.
 */
export const DEFAULT_POLICY: Policy = Object.freeze({
  failures: 10,
  backoff: DEFAULT_CURVE,
  leaseMs: 60_000,
  timeoutMs: null,
  keep: Object.freeze({ completed: 7 * DAY, cancelled: 7 * DAY, dead: 30 * DAY }),
})

/** What differs from the defaults, as compact JSON; null when nothing does. */
export function encodePolicy(policy: Policy): string | null {
  const { failures, backoff, leaseMs, timeoutMs, keep } = policy
  // Members that are undefined are left out of JSON.
  const text = JSON.stringify({
    failures: unlessUsual(failures, DEFAULT_POLICY.failures),
    leaseMs: unlessUsual(leaseMs, DEFAULT_POLICY.leaseMs),
    timeoutMs: unlessUsual(timeoutMs, DEFAULT_POLICY.timeoutMs),
    backoff: backoff === DEFAULT_CURVE ? undefined : unlessEmpty(ofCurve(backoff)),
    keep: unlessEmpty(ofKept(keep)),
  })
  return text === '{}' ? null : text
}

/**
 * The policy that `encodePolicy` wrote. A member that is missing or is not what it should be (the
 * row was written by hand, or by a later release) is the default: a job must stay able to run.
 */
export function decodePolicy(text: string | null): Policy {
  if (text === null) return DEFAULT_POLICY
  const stored = membersOf(parsed(text))
  const keep = membersOf(stored['keep'])
  return {
    failures: numberOr(stored['failures'], DEFAULT_POLICY.failures),
    backoff: curveFrom(stored['backoff']),
    leaseMs: numberOr(stored['leaseMs'], DEFAULT_POLICY.leaseMs),
    timeoutMs: orForever(stored['timeoutMs'], DEFAULT_POLICY.timeoutMs),
    keep: {
      completed: orForever(keep['completed'], DEFAULT_POLICY.keep.completed),
      cancelled: orForever(keep['cancelled'], DEFAULT_POLICY.keep.cancelled),
      dead: orForever(keep['dead'], DEFAULT_POLICY.keep.dead),
    },
  }
}

type Members = Readonly<Record<string, unknown>>

function ofCurve({ type, baseMs, factor, capMs, jitter }: Curve): object {
  return {
    type: unlessUsual(type, DEFAULT_CURVE.type),
    baseMs: unlessUsual(baseMs, DEFAULT_CURVE.baseMs),
    factor: unlessUsual(factor, DEFAULT_CURVE.factor),
    capMs: unlessUsual(capMs, DEFAULT_CURVE.capMs),
    jitter: unlessUsual(jitter, DEFAULT_CURVE.jitter),
  }
}

function ofKept({ completed, cancelled, dead }: Kept): object {
  return {
    completed: unlessUsual(completed, DEFAULT_POLICY.keep.completed),
    cancelled: unlessUsual(cancelled, DEFAULT_POLICY.keep.cancelled),
    dead: unlessUsual(dead, DEFAULT_POLICY.keep.dead),
  }
}

function unlessUsual<T>(value: T, usual: T): T | undefined {
  return value === usual ? undefined : value
}

function unlessEmpty(members: object): object | undefined {
  return Object.values(members).some((member) => member !== undefined) ? members : undefined
}

function parsed(text: string): unknown {
  try {
    return decodeJson(text)
  } catch {
    return undefined
  }
}

function membersOf(value: unknown): Members {
  return isMembers(value) ? value : {}
}

function isMembers(value: unknown): value is Members {
  return typeof value === 'object' && value !== null
}

function curveFrom(backoff: unknown): Curve {
  if (!isMembers(backoff)) return DEFAULT_CURVE
  const stored = backoff
  return {
    type: BACKOFF_TYPES.find((type) => type === stored['type']) ?? DEFAULT_CURVE.type,
    baseMs: numberOr(stored['baseMs'], DEFAULT_CURVE.baseMs),
    factor: numberOr(stored['factor'], DEFAULT_CURVE.factor),
    capMs: numberOr(stored['capMs'], DEFAULT_CURVE.capMs),
    jitter: numberOr(stored['jitter'], DEFAULT_CURVE.jitter),
  }
}

function numberOr(value: unknown, fallback: number): number {
  return typeof value === 'number' ? value : fallback
}

function orForever(value: unknown, fallback: number | null): number | null {
  return value === null ? null : typeof value === 'number' ? value : fallback
}
