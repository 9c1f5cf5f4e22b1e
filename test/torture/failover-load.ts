import { setTimeout as pause } from 'node:timers/promises'
import { defineStream, open, typed } from 'millrace'
import type { Mill } from 'millrace'
import { makeId } from '../../src/core/id.ts'
import { failoverWorker, pulse } from './failover-worker.ts'
import type { About, Fact } from './history/fact.ts'
import { seededRandom } from './random.ts'
import { anyTask, task } from './task.ts'

/** What the load of a failover told so far, and how it goes on. */
export interface FailoverLoad {
  readonly facts: readonly Fact[]
  /** The first instants after this one at which each part of the work went on. */
  wentOnAfter(instant: number): Readonly<Record<string, number>>
  /** No new asks; resolves when nobody asks any more. */
  stopAsking(): Promise<void>
  close(): Promise<void>
}

export const STREAM = 'moves'
export const SCHEDULE = 'pulse'
export const PULSE_MS = 500
const LOCK_TTL = 3_000
const EVERY_MS = 20
const AT_ONCE = 4

const moves = defineStream(STREAM, { data: typed<{ n: number }>() })
export interface LoadOptions {
  readonly seed: number
  readonly leaseMs: number
}

/** Producer, worker, publisher, two consumers, two who want one lock, and a schedule, each over both hosts. */
export async function startLoad(url: string, options: LoadOptions): Promise<FailoverLoad> {
  const facts: Fact[] = []
  const tellAs = (process: string) => (about: About) => {
    facts.push({ at: Date.now(), process, ...about })
  }
  const over = new AbortController()
  const reading = new AbortController()
  const mills = await Promise.all(
    ['producer', 'worker', 'other'].map(() => open(url, { logger: false })),
  )
  const [producer, atWork, other] = mills
  if (producer === undefined || atWork === undefined || other === undefined) throw new Error('none')
  await producer.schedule(SCHEDULE, { kind: pulse, every: PULSE_MS, catchUp: { all: 1_000 } })
  const worker = await failoverWorker(atWork, tellAs)
  const asking = [
    enqueueing({ mill: producer, tell: tellAs('producer'), signal: over.signal }, options),
    publishing({ mill: producer, tell: tellAs('publisher'), signal: over.signal }),
    holding({ mill: producer, tell: tellAs('holder 1'), signal: over.signal }),
    holding({ mill: other, tell: tellAs('holder 2'), signal: over.signal }),
  ]
  const readers = [
    following({ mill: atWork, tell: tellAs('reader'), signal: reading.signal }),
    totalling({ mill: other, tell: tellAs('totals'), signal: reading.signal }),
  ]

  return {
    facts,
    wentOnAfter: (instant) => firstAfter(facts, instant),
    async stopAsking() {
      over.abort()
      await Promise.all(asking)
    },
    async close() {
      over.abort()
      reading.abort()
      await Promise.all([...asking, ...readers])
      await worker.stop()
      await Promise.all(mills.map((mill) => mill.close()))
    },
  }
}

interface Part {
  readonly mill: Mill
  readonly tell: (about: About) => void
  readonly signal: AbortSignal
}

async function enqueueing(
  { mill, tell, signal }: Part,
  { seed, leaseMs }: LoadOptions,
): Promise<void> {
  const random = seededRandom(seed)
  const open: Promise<void>[] = []
  for (let number = 0; !signal.aborted; number += 1) {
    if (number % AT_ONCE === 0) await pause(EVERY_MS)
    open.push(ask(number))
  }
  await Promise.all(open)

  async function ask(number: number): Promise<void> {
    const dueAt = Date.now()
    try {
      const input = anyTask(number, random, leaseMs)
      const { id } = await mill.enqueue(task, input, { lease: leaseMs })
      tell({ what: 'enqueued', job: id, ask: number, dueAt, expiresAt: null })
    } catch {
      tell({ what: 'unanswered', ask: number, beside: false })
    }
  }
}

/** Whether an event whose publish failed is there is known in the end only: its id is ours. */
async function publishing({ mill, tell, signal }: Part): Promise<void> {
  for (let n = 1; !signal.aborted; n += 1) {
    await pause(EVERY_MS)
    const id = makeId(Date.now())
    await mill.publish(moves, { n }, { id }).then(
      () => tell({ what: 'published', stream: STREAM, event: id }),
      () => undefined,
    )
  }
}

async function holding({ mill, tell, signal }: Part): Promise<void> {
  while (!signal.aborted) {
    try {
      await using lock = await mill.lock('leader', { ttl: LOCK_TTL, signal })
      const until = lock.expiresAt.getTime()
      const own = { lock: 'leader', token: lock.token }
      tell({ what: 'took', ...own, from: until - LOCK_TTL, until })
      lock.signal.addEventListener('abort', () => tell({ what: 'lost', ...own }), { once: true })
      await pause(200, undefined, { signal: lock.signal }).catch(() => undefined)
      const renewed = lock.expiresAt.getTime()
      if (renewed > until) tell({ what: 'extended', ...own, until: renewed })
      if (!lock.signal.aborted) tell({ what: 'let-go', ...own })
    } catch {
      // Nobody was there to ask.
    }
  }
}

async function following({ mill, tell, signal }: Part): Promise<void> {
  tell({ what: 'follows', consumer: 'reader', stream: STREAM, isOnce: false })
  while (!signal.aborted) {
    try {
      const options = { as: 'reader', from: 'start', signal } as const
      for await (const { offset, id } of mill.subscribe(moves, options)) {
        tell({ what: 'saw', consumer: 'reader', stream: STREAM, event: id, offset })
      }
    } catch {
      await pause(50)
    }
  }
}

/** Its effects are rows beside its offset: what it saw is read from there. */
async function totalling({ mill, tell, signal }: Part): Promise<void> {
  tell({ what: 'follows', consumer: 'totals', stream: STREAM, isOnce: true })
  while (!signal.aborted) {
    try {
      await mill.consume(moves, { as: 'totals', from: 'start', signal }, async (events, tx) => {
        for (const { offset, id } of events) {
          await tx.query('insert into totals (event_offset, event) values ($1, $2)', [offset, id])
        }
      })
    } catch {
      await pause(50)
    }
  }
}

const PARTS: readonly (readonly [part: string, what: About['what']])[] = [
  ['an enqueue', 'enqueued'],
  ['a run', 'began'],
  ['a settlement', 'settled'],
  ['an event read', 'saw'],
  ['a lock', 'took'],
]

function firstAfter(facts: readonly Fact[], instant: number): Readonly<Record<string, number>> {
  return Object.fromEntries(
    PARTS.flatMap(([part, what]) => {
      const first = facts.find((fact) => fact.what === what && fact.at > instant)
      return first === undefined ? [] : [[part, first.at - instant]]
    }),
  )
}
