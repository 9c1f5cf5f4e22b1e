import { open, shutdownSignal } from 'millrace'
import type { Mill } from 'millrace'
import { setTimeout as pause } from 'node:timers/promises'
import { askLog } from './log.ts'
import type { AskLog } from './log.ts'
import { orders } from './orders.ts'
import type { Orders } from './orders.ts'
import type { ProgramSettings } from './process.ts'
import { pick, seededRandom } from './random.ts'
import type { Random } from './random.ts'
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
  readonly log: AskLog
  readonly orders: Orders
  readonly leaseMs: number
}

async function produce(settings: ProducerSettings): Promise<void> {
  const { url, perSecond, leaseMs } = settings
  const mill = await open(url, { logger: false })
  const production = { mill, log: askLog(settings.log), orders: orders(url), leaseMs }
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

function anyWay(random: Random): (tasks: readonly Task[], production: Production) => Promise<void> {
  return pick(random, [
    [oneByOne, 5],
    [allAtOnce, 3],
    [committed, 1],
    [rolledBack, 1],
  ])
}

async function oneByOne(tasks: readonly Task[], production: Production): Promise<void> {
  const { mill, log, leaseMs } = production
  const answers = tasks.map(async (each) => {
    try {
      const { id } = await mill.enqueue(task, each, { lease: leaseMs })
      log.there(each.number, id)
    } catch {
      log.unknown(each.number)
    }
  })
  await Promise.all(answers)
}

async function allAtOnce(tasks: readonly Task[], production: Production): Promise<void> {
  const { mill, log, leaseMs } = production
  try {
    const answers = await mill.enqueueMany(task, tasks, { lease: leaseMs })
    for (const [index, { id }] of answers.entries()) log.there(tasks[index]?.number ?? -1, id)
  } catch {
    for (const each of tasks) log.unknown(each.number)
  }
}

async function committed(tasks: readonly Task[], production: Production): Promise<void> {
  const { mill, log, leaseMs } = production
  const numbers = tasks.map(({ number }) => number)
  try {
    const answers = await production.orders.write(numbers, async (transaction) =>
      mill.in(transaction).enqueueMany(task, tasks, { lease: leaseMs }),
    )
    for (const [index, { id }] of answers.entries()) log.there(tasks[index]?.number ?? -1, id)
  } catch {
    // The commit may have applied: the orders beside the jobs tell.
    for (const number of numbers) log.ordered(number)
  }
}

async function rolledBack(tasks: readonly Task[], production: Production): Promise<void> {
  const { mill, log, leaseMs } = production
  const numbers = tasks.map(({ number }) => number)
  const changedMind = new Error('changed its mind')
  await production.orders
    .write(numbers, async (transaction) => {
      await mill.in(transaction).enqueueMany(task, tasks, { lease: leaseMs })
      throw changedMind
    })
    // Whatever ended it, there was no commit.
    .catch(() => undefined)
  for (const number of numbers) log.absent(number)
}

// Without its parent it has no reason to be; and only without the channel it can end.
process.on('disconnect', () => process.exit())
const settings: ProducerSettings = JSON.parse(process.argv[2] ?? '')
await produce(settings)
process.disconnect()
