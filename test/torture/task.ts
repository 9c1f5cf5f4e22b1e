import { defineJob, GiveUp, typed } from 'millrace'
import type { JobKind, Run } from 'millrace'
import { setTimeout as pause } from 'node:timers/promises'
import { between, pick } from './random.ts'
import type { Random } from './random.ts'

/** What a job of the torture is told to do: the checker knows from it how the job must end. */
export interface Task {
  /** Known to the producer's log, and given once only. */
  readonly number: number
  /** How long a run takes. */
  readonly ms: number
  /** A run that has fewer failures behind it fails. */
  readonly failures: number
  readonly ends: 'completed' | 'gave-up' | 'failed'
  /** The run looks away from its signal. */
  readonly isDeaf: boolean
  /** A run that succeeds writes its effect in `run.transaction`. */
  readonly isTransactional: boolean
}

interface TaskTypes {
  name: 'torture'
  input: Task
  parsed: Task
  carry: undefined
  result: unknown
}

export const FAILURE_LIMIT = 6

export const task: JobKind<TaskTypes> = defineJob('torture', {
  input: typed<Task>(),
  retry: { failures: FAILURE_LIMIT, backoff: { type: 'fixed', base: '200ms' } },
})

/** Work of all sorts: most of it short and good, some that fails, some longer than its lease. */
export function anyTask(number: number, random: Random, leaseMs: number): Task {
  if (random() < 0.002) {
    return { ...plainTask(number, random), ms: between(random, leaseMs, leaseMs * 2) }
  }
  return {
    number,
    ms: between(random, 0, 50),
    failures: pick(random, [
      [0, 90],
      [1, 8],
      [3, 2],
    ]),
    ends: pick(random, [
      ['completed', 96],
      ['gave-up', 2],
      ['failed', 2],
    ]),
    isDeaf: random() < 0.1,
    isTransactional: random() < 0.1,
  }
}

/** Work that always succeeds, and soon. */
export function plainTask(number: number, random: Random): Task {
  const work = { ms: between(random, 0, 20), failures: 0, ends: 'completed' } as const
  return { number, ...work, isDeaf: false, isTransactional: false }
}

export async function perform(input: Task, run: Run): Promise<void> {
  await pause(input.ms, undefined, input.isDeaf ? {} : { signal: run.signal })
  if (run.failures < input.failures || input.ends === 'failed') {
    throw new Error(`task ${input.number} fails as planned`)
  }
  if (input.ends === 'gave-up') throw new GiveUp(`task ${input.number} gives up as planned`)
}
