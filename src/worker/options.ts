import type { Duration } from '../core/duration.ts'
import { milliseconds } from '../core/duration.ts'
import { checkName, checkOptions } from '../core/names.ts'
import { InvalidOptionError } from '../errors.ts'
import { definitionOf } from '../jobs/definition.ts'
import type { JobKind } from '../jobs/kind.ts'
import { DEFAULT_QUEUE } from '../jobs/options.ts'
import type { HandledKind } from './handlers.ts'

export interface WorkerOptions {
  /**
   * Which queues to claim from, and with `{ mail: 5 }` how many runs of a queue at once at most.
   * Default: the queues that its kinds name, `default` for those that name none.
   */
  queues?: readonly string[] | Readonly<Record<string, number>> | undefined
  /** How many runs at once. Default 10. */
  concurrency?: number | undefined
  /**
   * What keeps jobs of a low level from waiting for ever while better ones keep coming. `'rotate'`
   * (default) is `{ rotate: 4 }`: of the slots of a queue every fourth is for a lower level than the
   * best that waits, every sixteenth for the next lower, and so on. `'strict'`: always the best first.
   */
  fairness?: 'rotate' | 'strict' | { rotate: number } | undefined
  /**
   * Runs here are dead at this failure even where the job's own limit (`retry.failures`) is higher.
   * Default: the job's own.
   */
  failures?: number | undefined
  /** How long `stop` lets runs end before their jobs are handed back. Default 30 s; 0 hands back at once. */
  grace?: Duration | undefined
  /**
   * How many jobs may be claimed before there is a slot for them, while runs are so short that they
   * begin within 50 ms. Default 1 000; 0 claims only what there are slots for. A process that is
   * killed counts as a failure of those too.
   */
  ahead?: number | undefined
  /** How often to look for work that no hint announced. Default 30 s with a listener, else 1 s. */
  poll?: Duration | undefined
}

/** Options checked and resolved, with the kinds the worker handles. */
export interface WorkerSetup {
  readonly kinds: ReadonlyMap<string, HandledKind>
  readonly queues: readonly string[]
  readonly queueCaps: ReadonlyMap<string, number>
  readonly concurrency: number
  /** How many slots of a level there are to one of the next; null: strictly by level. */
  readonly ratio: number | null
  /** Null: as each job says. */
  readonly failures: number | null
  readonly ahead: number
  readonly pollMs: number
  /** The poll while no hints arrive. */
  readonly blindPollMs: number
}

/** What is known before the handlers are: throws at the call that has the fault. */
export interface CheckedWorkerOptions {
  readonly queues: readonly string[] | null
  readonly queueCaps: ReadonlyMap<string, number>
  readonly concurrency: number
  readonly ratio: number | null
  readonly failures: number | null
  readonly ahead: number
  readonly graceMs: number
  readonly pollMs: number | null
}

export const LISTENING_POLL = 30_000
const BLIND_POLL = 1_000
const GRACE = 30_000
const CONCURRENCY = 10
const AHEAD = 1_000
const RATIO = 4
const LARGEST_RATIO = 1_000
const OPTIONS = ['queues', 'concurrency', 'fairness', 'failures', 'ahead', 'grace', 'poll']

export function checkWorkerOptions(options: WorkerOptions): CheckedWorkerOptions {
  checkOptions('worker()', options, OPTIONS)
  const { queues, concurrency = CONCURRENCY, fairness, failures, ahead, grace, poll } = options
  return {
    queues: queues === undefined ? null : namesOf(queues),
    queueCaps: queues === undefined || isList(queues) ? new Map() : capsOf(queues),
    concurrency: count('concurrency', concurrency),
    ratio: ratioOf(fairness),
    failures: failures === undefined ? null : count('failures', failures),
    ahead: ahead === undefined || ahead === 0 ? (ahead ?? AHEAD) : count('ahead', ahead),
    graceMs: grace === undefined ? GRACE : milliseconds('grace', grace, { zero: true }),
    pollMs: poll === undefined ? null : milliseconds('poll', poll),
  }
}

export function setupOf(
  options: CheckedWorkerOptions,
  kinds: ReadonlyMap<string, HandledKind>,
): WorkerSetup {
  const queues = options.queues ?? queuesOf([...kinds.values()].map(({ kind }) => kind))
  return {
    kinds,
    queues,
    queueCaps: options.queueCaps,
    concurrency: options.concurrency,
    ratio: options.ratio,
    failures: options.failures,
    ahead: options.ahead,
    pollMs: options.pollMs ?? LISTENING_POLL,
    blindPollMs: Math.min(options.pollMs ?? BLIND_POLL, BLIND_POLL),
  }
}

/** The queues that kinds name, `default` for those that name none. */
export function queuesOf(kinds: Iterable<JobKind>): readonly string[] {
  const queues = [...kinds].map((kind) => definitionOf(kind).settings.queue ?? DEFAULT_QUEUE)
  return [...new Set(queues)]
}

/** Checks names of queues; each once. Throws `InvalidOptionError` or `InvalidNameError`. */
export function namesOf(queues: NonNullable<WorkerOptions['queues']>): readonly string[] {
  const names = isList(queues) ? queues : Object.keys(queues)
  if (names.length === 0) {
    throw new InvalidOptionError('queues', queues, 'name at least one queue, or leave it out')
  }
  return [...new Set(names.map((name) => checkName('queue', name)))]
}

function capsOf(queues: Readonly<Record<string, number>>): ReadonlyMap<string, number> {
  return new Map(
    Object.entries(queues).map(([queue, cap]) => [queue, count(`queues.${queue}`, cap)]),
  )
}

function ratioOf(fairness: WorkerOptions['fairness'] = 'rotate'): number | null {
  if (fairness === 'strict') return null
  if (fairness === 'rotate') return RATIO
  if (typeof fairness !== 'object') {
    throw new InvalidOptionError('fairness', fairness, "pass 'rotate', 'strict' or { rotate: 4 }")
  }
  const { rotate } = checkOptions('fairness', fairness, ['rotate'])
  const isRatio = typeof rotate === 'number' && Number.isInteger(rotate)
  if (isRatio && rotate >= 2 && rotate <= LARGEST_RATIO) return rotate
  throw new InvalidOptionError(
    'fairness.rotate',
    rotate,
    `every so many slots one is for a lower level. Give a whole number from 2 to ${LARGEST_RATIO}.`,
  )
}

function count(option: string, value: unknown): number {
  if (typeof value === 'number' && Number.isInteger(value) && value > 0) return value
  throw new InvalidOptionError(option, value, 'pass a whole number from 1 up')
}

function isList(queues: NonNullable<WorkerOptions['queues']>): queues is readonly string[] {
  return Array.isArray(queues)
}
