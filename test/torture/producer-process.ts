import { open, shutdownSignal } from 'millrace'
import type { Mill } from 'millrace'
import { setTimeout as pause } from 'node:timers/promises'
import { factLog } from './history/log.ts'
import type { FactLog } from './history/log.ts'
import { orders } from './orders.ts'
import type { Orders } from './orders.ts'
import type { ProgramSettings } from './process.ts'
import { between, pick, seededRandom } from './random.ts'
import type { Random } from './random.ts'
import { saidLog } from './said.ts'
import { anyTask, plainTask, task } from './task.ts'
import type { Task } from './task.ts'

/**
 * A producer that asks for tasks in every way there is: one by one, many at once, and in
 * transactions of its own that it commits or rolls back.
 */
export interface ProducerSettings extends ProgramSettings {
  readonly seed: number
  /** The number of its first task. */
  readonly first: number
  /** How many; null: until SIGTERM. */
  readonly jobs: number | null
  /** How many a second at most; null: as fast as they are answered. */
  readonly perSecond: number | null
  readonly leaseMs: number
  readonly tasks: 'plain' | 'any'
}

/** Tasks in one step. */
const STEP = 20
/** Steps under way at once, where nothing else slows the producer down. */
const AT_ONCE = 8

interface Production {
  readonly mill: Mill
  readonly tell: FactLog
  readonly orders: Orders
  readonly leaseMs: number
}

async function produce(settings: ProducerSettings): Promise<void> {
  const { url, perSecond, leaseMs } = settings
  const mill = await open(url, { logger: saidLog(settings.log) })
  const name = `producer-${settings.first}`
  const production = { mill, tell: factLog(settings.log, name), orders: orders(url), leaseMs }
  const stop = shutdownSignal()
  process.send?.('producer')
  const steps = stepsOf(settings)
  const everyMs = perSecond === null ? 0 : (STEP / perSecond) * 1_000
  const line = async (): Promise<void> => {
    for (let step = steps.next(); step.done !== true && !stop.aborted; step = steps.next()) {
      await Promise.all([step.value(production), pause(everyMs)])
    }
  }
  await Promise.all(Array.from({ length: perSecond === null ? AT_ONCE : 1 }, line))
  await production.orders.close()
  await mill.close()
}

/** The tasks of a step, and the way they are asked for. */
type Step = (production: Production) => Promise<void>

function* stepsOf({ seed, first, jobs, tasks, leaseMs }: ProducerSettings): Generator<Step, void> {
  const random = seededRandom(seed)
  const end = jobs === null ? Number.POSITIVE_INFINITY : first + jobs
  for (let number = first; number < end; number += STEP) {
    const numbers = Array.from(
      { length: Math.min(STEP, end - number) },
      (_, index) => number + index,
    )
    const step = numbers.map((each) =>
      tasks === 'plain' ? plainTask(each, random) : anyTask(each, random, leaseMs),
    )
    const way = anyWay(random)
    yield (production) => way(step, production)
  }
}

type Way = (tasks: readonly Task[], production: Production) => Promise<void>

function anyWay(random: Random): Way {
  return pick<Way>(random, [
    [(tasks, production) => oneByOne(tasks, production, 0), 4],
    [(tasks, production) => oneByOne(tasks, production, between(random, 1, 3_000)), 1],
    [allAtOnce, 3],
    [committed, 1],
    [rolledBack, 1],
  ])
}

// Delayed ones expire, too, but long after they have been run.
async function oneByOne(
  tasks: readonly Task[],
  { mill, tell, leaseMs }: Production,
  delay: number,
): Promise<void> {
  const dueAt = Date.now() + delay
  const options = delay === 0 ? {} : { delay, expires: EXPIRES }
  const expiresAt = delay === 0 ? null : dueAt + EXPIRES
  const answers = tasks.map(async (each) => {
    try {
      const { id } = await mill.enqueue(task, each, { lease: leaseMs, ...options })
      tell({ what: 'enqueued', job: id, ask: each.number, dueAt, expiresAt })
    } catch {
      tell({ what: 'unanswered', ask: each.number, beside: false })
    }
  })
  await Promise.all(answers)
}

const EXPIRES = 3_600_000

async function allAtOnce(tasks: readonly Task[], production: Production): Promise<void> {
  const { mill, tell, leaseMs } = production
  const dueAt = Date.now()
  try {
    const answers = await mill.enqueueMany(task, tasks, { lease: leaseMs })
    tellAnswers(tasks, answers, { tell, dueAt })
  } catch {
    for (const { number } of tasks) tell({ what: 'unanswered', ask: number, beside: false })
  }
}

async function committed(tasks: readonly Task[], production: Production): Promise<void> {
  const { mill, tell, leaseMs } = production
  const numbers = tasks.map(({ number }) => number)
  const dueAt = Date.now()
  try {
    const answers = await production.orders.write(numbers, async (transaction) =>
      mill.in(transaction).enqueueMany(task, tasks, { lease: leaseMs }),
    )
    tellAnswers(tasks, answers, { tell, dueAt })
  } catch {
    // The commit may have applied: the orders beside the jobs tell.
    for (const ask of numbers) tell({ what: 'unanswered', ask, beside: true })
  }
}

async function rolledBack(tasks: readonly Task[], production: Production): Promise<void> {
  const { mill, tell, leaseMs } = production
  const numbers = tasks.map(({ number }) => number)
  const changedMind = new Error('changed its mind')
  await production.orders
    .write(numbers, async (transaction) => {
      await mill.in(transaction).enqueueMany(task, tasks, { lease: leaseMs })
      throw changedMind
    })
    // Whatever ended it, there was no commit.
    .catch(() => undefined)
  for (const ask of numbers) tell({ what: 'rolled-back', ask })
}

function tellAnswers(
  tasks: readonly Task[],
  answers: readonly { readonly id: string }[],
  { tell, dueAt }: { readonly tell: FactLog; readonly dueAt: number },
): void {
  for (const [index, { id }] of answers.entries()) {
    const ask = tasks[index]?.number ?? -1
    tell({ what: 'enqueued', job: id, ask, dueAt, expiresAt: null })
  }
}

// Without its parent it has no reason to be; and only without the channel it can end.
process.on('disconnect', () => process.exit())
const settings: ProducerSettings = JSON.parse(process.argv[2] ?? '')
await produce(settings)
process.disconnect()
