import type { Duration } from '../core/duration.ts'
import { milliseconds } from '../core/duration.ts'
import { checkName, checkOptions } from '../core/names.ts'
import { InvalidOptionError } from '../errors.ts'
import { definitionOf } from '../jobs/definition.ts'
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
  /** How long `stop` lets runs end before their jobs are handed back. Default 30 s; 0 hands back at once. */
  grace?: Duration | undefined
  /** How often to look for work that no hint announced. Default 30 s with a listener, else 1 s. */
  poll?: Duration | undefined
}

/** Options checked and resolved, with the kinds the worker handles. */
export interface WorkerSetup {
  readonly kinds: ReadonlyMap<string, HandledKind>
  readonly queues: readonly string[]
  readonly queueCaps: ReadonlyMap<string, number>
  readonly concurrency: number
  readonly pollMs: number
  /** The poll while no hints arrive. */
  readonly blindPollMs: number
}

/** What is known before the handlers are: throws at the call that has the fault. */
export interface CheckedWorkerOptions {
  readonly queues: readonly string[] | null
  readonly queueCaps: ReadonlyMap<string, number>
  readonly concurrency: number
  readonly graceMs: number
  readonly pollMs: number | null
}

export const LISTENING_POLL = 30_000
const BLIND_POLL = 1_000
const GRACE = 30_000
const CONCURRENCY = 10

export function checkWorkerOptions(options: WorkerOptions): CheckedWorkerOptions {
  checkOptions('worker()', options, ['queues', 'concurrency', 'grace', 'poll'])
  const { queues, concurrency = CONCURRENCY, grace, poll } = options
  return {
    queues: queues === undefined ? null : namesOf(queues),
    queueCaps: queues === undefined || isList(queues) ? new Map() : capsOf(queues),
    concurrency: count('concurrency', concurrency),
    graceMs: grace === undefined ? GRACE : milliseconds('grace', grace, { zero: true }),
    pollMs: poll === undefined ? null : milliseconds('poll', poll),
  }
}

export function setupOf(
  options: CheckedWorkerOptions,
  kinds: ReadonlyMap<string, HandledKind>,
): WorkerSetup {
  const queues = options.queues ?? queuesOf(kinds)
  return {
    kinds,
    queues,
    queueCaps: options.queueCaps,
    concurrency: options.concurrency,
    pollMs: options.pollMs ?? LISTENING_POLL,
    blindPollMs: Math.min(options.pollMs ?? BLIND_POLL, BLIND_POLL),
  }
}

function queuesOf(kinds: ReadonlyMap<string, HandledKind>): readonly string[] {
  const queues = [...kinds.values()].map(
    ({ kind }) => definitionOf(kind).settings.queue ?? DEFAULT_QUEUE,
  )
  return [...new Set(queues)]
}

function namesOf(queues: NonNullable<WorkerOptions['queues']>): readonly string[] {
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

function count(option: string, value: unknown): number {
  if (typeof value === 'number' && Number.isInteger(value) && value > 0) return value
  throw new InvalidOptionError(option, value, 'pass a whole number from 1 up')
}

function isList(queues: NonNullable<WorkerOptions['queues']>): queues is readonly string[] {
  return Array.isArray(queues)
}
