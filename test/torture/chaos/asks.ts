import { setTimeout as pause } from 'node:timers/promises'
import type { EnqueueResult, Mill } from 'millrace'
import { ulid } from 'ulid'
import type { FactLog } from '../history/log.ts'
import type { Orders } from '../orders.ts'
import { between } from '../random.ts'
import type { Random } from '../random.ts'
import { anyTask, task } from '../task.ts'
import type { Complain } from './complaints.ts'
import { doomed, gathered, LEASE_MS, narrow, paged, parent, single, timely } from './kinds.ts'
import { persist } from './patience.ts'
import { trueNow } from './true-time.ts'

/** What asks need: who they are asked of, where they are told, and which number is the next. */
export interface Asking {
  readonly mill: Mill
  readonly tell: FactLog
  readonly orders: Orders
  readonly random: Random
  readonly signal: AbortSignal
  readonly complain: Complain
  nextNumber(): number
}

/**
 * One ask, under an id of the caller's or not. One whose answer did not come is there or not: with an
 * id it is repeated until it is answered, as applications do which must know; without, it is told
 * that nobody knows.
 */
async function ask(
  asking: Asking,
  about: { readonly number: number; readonly dueAt?: number; readonly expiresAt?: number },
  enqueue: (id: string | undefined) => Promise<EnqueueResult>,
): Promise<string | undefined> {
  const { tell, random, signal, complain } = asking
  const { number, dueAt = trueNow(), expiresAt = null } = about
  const id = random() < 0.4 ? ulid() : undefined
  try {
    const once = (): Promise<EnqueueResult> => enqueue(id)
    const answer = await (id === undefined ? once() : persist(once, signal))
    tell({ what: 'enqueued', job: answer.id, ask: number, dueAt, expiresAt })
    return answer.id
  } catch (error) {
    if (!signal.aborted) complain('enqueue', error)
    tell({ what: 'unanswered', ask: number, beside: false })
    return undefined
  }
}

export async function askTask(asking: Asking): Promise<void> {
  const { mill, random } = asking
  const number = asking.nextNumber()
  const input = anyTask(number, random, LEASE_MS)
  const priority = random() < 0.3 ? 'low' : 'normal'
  await ask(asking, { number }, (id) =>
    mill.enqueue(task, input, { id, priority, lease: LEASE_MS }),
  )
}

export async function askTasks(asking: Asking): Promise<void> {
  const { mill, tell, random, complain } = asking
  const tasks = Array.from({ length: 8 }, () => anyTask(asking.nextNumber(), random, LEASE_MS))
  const dueAt = trueNow()
  try {
    const answers = await mill.enqueueMany(task, tasks, { lease: LEASE_MS })
    for (const [index, { id: job }] of answers.entries()) {
      tell({ what: 'enqueued', job, ask: tasks[index]?.number ?? -1, dueAt, expiresAt: null })
    }
  } catch (error) {
    complain('enqueueMany', error)
    for (const { number } of tasks) tell({ what: 'unanswered', ask: number, beside: false })
  }
}

/** In a transaction of the application's, with its orders, committed or not. */
export async function askInside(asking: Asking): Promise<void> {
  const { mill, tell, random, orders } = asking
  const tasks = Array.from({ length: 4 }, () => anyTask(asking.nextNumber(), random, LEASE_MS))
  const numbers = tasks.map(({ number }) => number)
  const isMeant = random() < 0.7
  const dueAt = trueNow()
  let isCommitting = false
  try {
    const answers = await orders.write(numbers, async (transaction) => {
      const written = await mill.in(transaction).enqueueMany(task, tasks, { lease: LEASE_MS })
      if (!isMeant) throw new Error('changed its mind')
      isCommitting = true
      return written
    })
    for (const [index, { id: job }] of answers.entries()) {
      tell({ what: 'enqueued', job, ask: numbers[index] ?? -1, dueAt, expiresAt: null })
    }
  } catch {
    // A commit may have applied: the orders beside the jobs tell. Before it there was none.
    for (const number of numbers) {
      if (isCommitting) tell({ what: 'unanswered', ask: number, beside: true })
      else tell({ what: 'rolled-back', ask: number })
    }
  }
}

export async function askGathered(asking: Asking): Promise<void> {
  const { mill, random } = asking
  const number = asking.nextNumber()
  const key = `key ${between(random, 1, 8)}`
  const delay = random() < 0.5 ? 0 : between(random, 1, 400)
  await ask(asking, { number }, (id) =>
    mill.enqueue(gathered, { key, asks: [number] }, { id, delay }),
  )
}

export async function askPaged(asking: Asking): Promise<void> {
  const number = asking.nextNumber()
  const pages = between(asking.random, 0, 4)
  await ask(asking, { number }, (id) => asking.mill.enqueue(paged, { number, pages }, { id }))
}

export async function askParent(asking: Asking): Promise<void> {
  const { mill, random } = asking
  const number = asking.nextNumber()
  const input = { number, children: between(random, 0, 3), failures: random() < 0.2 ? 1 : 0 }
  await ask(asking, { number }, (id) => mill.enqueue(parent, input, { id }))
}

export async function askTimely(asking: Asking): Promise<void> {
  const { mill, random } = asking
  const number = asking.nextNumber()
  const dueAt = Math.ceil(trueNow()) + between(random, 0, 3_000)
  const expiresAt = dueAt + between(random, 200, 4_000)
  const input = { number, expiresAt }
  const options = { at: new Date(dueAt), expires: new Date(expiresAt) }
  await ask(asking, { number, dueAt, expiresAt }, (id) =>
    mill.enqueue(timely, input, { ...options, id }),
  )
}

export async function askNarrow(asking: Asking): Promise<void> {
  const number = asking.nextNumber()
  const input = { number, ms: between(asking.random, 1, 60) }
  await ask(asking, { number }, (id) => asking.mill.enqueue(narrow, input, { id }))
}

export async function askSingle(asking: Asking): Promise<void> {
  const { mill, random } = asking
  const number = asking.nextNumber()
  const input = { number, ms: between(random, 1, 100), key: `one ${between(random, 1, 4)}` }
  await ask(asking, { number }, (id) => mill.enqueue(single, input, { id }))
}

export async function askDoomed(asking: Asking): Promise<void> {
  const { mill, random, complain, signal } = asking
  const number = asking.nextNumber()
  const input = { number, ms: between(random, 50, 1_500) }
  const job = await ask(asking, { number }, (id) => mill.enqueue(doomed, input, { id }))
  if (job === undefined) return
  await pause(between(random, 0, 1_000))
  const cancelled = persist(() => mill.jobs.cancel(job, { by: 'its asker' }), signal)
  await cancelled.catch((error: unknown) => complain('cancel', error))
}
