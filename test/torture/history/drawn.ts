import * as fc from 'fast-check'
import type { Fact, OfRuns } from './fact.ts'
import { telling } from './sound.ts'
import type { Telling } from './sound.ts'

/**
 * Histories that keep the promise, as chance would have them: each part is drawn, and told as the
 * processes would tell it.
 */
export interface Drawn {
  readonly jobs: readonly DrawnJob[]
  /** How long each holder keeps the lock, and whether it lets go or stalls. */
  readonly holds: readonly { readonly ms: number; readonly stalls: boolean }[]
  readonly boundaries: number
  readonly events: number
  /** Where the consumer that handles at least once was killed: it sees that event again. */
  readonly killedAt: readonly number[]
}

interface DrawnJob {
  readonly delay: number
  readonly expires: number | null
  readonly ends: 'completed' | 'dead' | 'waits'
  /** What became of the runs before the last. */
  readonly runs: readonly DrawnRun[]
}

interface DrawnRun {
  readonly ms: number
  readonly fate: 'retried' | 'killed' | 'frozen'
  readonly backoff: number
}

const run: fc.Arbitrary<DrawnRun> = fc.record({
  ms: fc.integer({ min: 0, max: 5_000 }),
  fate: fc.constantFrom('retried', 'killed', 'frozen'),
  backoff: fc.integer({ min: 0, max: 5_000 }),
})

export const histories: fc.Arbitrary<Drawn> = fc.record({
  jobs: fc.array(
    fc.record({
      delay: fc.integer({ min: 0, max: 5_000 }),
      expires: fc.option(fc.integer({ min: 100_000, max: 200_000 })),
      ends: fc.constantFrom('completed', 'completed', 'dead', 'waits'),
      runs: fc.array(run, { maxLength: 3 }),
    }),
    { maxLength: 5 },
  ),
  holds: fc.array(fc.record({ ms: fc.integer({ min: 1, max: 1_000 }), stalls: fc.boolean() }), {
    maxLength: 6,
  }),
  boundaries: fc.nat(5),
  events: fc.nat(6),
  killedAt: fc.array(fc.nat(5), { maxLength: 3 }),
})

export function drawnHistory(drawn: Drawn): readonly Fact[] {
  const story = telling()
  for (const [index, job] of drawn.jobs.entries()) tellJob(story, `J${index}`, job)
  tellHolds(story, drawn.holds)
  tellFires(story, drawn.boundaries)
  tellEvents(story, drawn)
  return story.facts
}

const LEASE = 3_000
const TTL = 400
const WORK = { kind: 'work', queue: 'default', isTransactional: true } as const

// Each run has a worker of its own with a cap of 1, as if a process ran one job only.
function tellJob(story: Telling, job: string, { delay, expires, ends, runs }: DrawnJob): void {
  const { tell, later } = story
  const asked = later(1)
  const expiresAt = expires === null ? null : asked + expires
  tell('P', { what: 'enqueued', job, ask: asked, dueAt: asked + delay, expiresAt })
  later(delay)
  for (const [index, each] of runs.entries()) tellLostRun(story, { job, run: index + 1 }, each)
  if (ends === 'waits') {
    tell('tables', { what: 'placed', job, ask: asked, places: ['ready'] })
    return
  }
  const last = { job, run: runs.length + 1, worker: `${job}-${runs.length + 1}` }
  const startedAt = join(story, last)
  const recordedAt = later(10)
  tell(last.worker, { what: 'returned', ...last })
  tell(last.worker, { what: 'settled', ...last, outcome: ends, applied: true })
  const record = { startedAt, recordedAt, dueAt: null }
  tell('tables', { what: 'recorded', ...last, outcome: ends, ...record })
  tell('tables', { what: 'placed', job, ask: asked, places: ['finished'] })
  if (ends === 'completed') tell('tables', { what: 'effect', ...last })
}

function tellLostRun(
  story: Telling,
  { job, run: number }: { readonly job: string; readonly run: number },
  { ms, fate, backoff }: DrawnRun,
): void {
  const { tell, later } = story
  const own = { job, run: number, worker: `${job}-${number}` }
  const startedAt = join(story, own)
  const over = later(ms)
  if (fate === 'retried') {
    tell(own.worker, { what: 'returned', ...own })
    tell(own.worker, { what: 'settled', ...own, outcome: 'retried', applied: true })
  } else {
    const to = fate === 'killed' ? null : over + 2 * LEASE
    tell('harness', {
      what: 'struck',
      how: fate === 'killed' ? 'kill' : 'freeze',
      target: own.worker,
      from: over,
      to,
    })
    later(LEASE)
  }
  const recordedAt = later(1)
  const dueAt = recordedAt + backoff
  const outcome = fate === 'retried' ? 'retried' : 'stale-recovered'
  tell('tables', { what: 'recorded', ...own, outcome, startedAt, recordedAt, dueAt })
  later(backoff)
}

type Own = Pick<Extract<OfRuns, { what: 'began' }>, 'job' | 'run' | 'worker'>

function join({ tell, later }: Telling, own: Own): number {
  const caps = { concurrency: 1, queues: { default: 1 }, kinds: { work: 1 } }
  tell(own.worker, { what: 'joined', worker: own.worker, ...caps })
  const startedAt = later(1)
  tell(own.worker, { what: 'began', ...own, ...WORK })
  return startedAt
}

function tellHolds({ tell, later }: Telling, holds: Drawn['holds']): void {
  const lock = 'drawn'
  for (const [index, { ms, stalls }] of holds.entries()) {
    const own = { lock, token: index * 7 + 1 }
    const process = `H${index}`
    const from = later(1)
    tell(process, { what: 'took', ...own, from, until: from + TTL })
    later(Math.min(ms, TTL - 10))
    const until = later(1) + TTL
    tell(process, { what: 'extended', ...own, until })
    if (stalls) later(TTL + 1)
    else tell(process, { what: 'let-go', ...own })
  }
}

function tellFires({ tell }: Telling, boundaries: number): void {
  for (let index = 1; index <= boundaries; index += 1) {
    const fire = { schedule: 'drawn', boundary: index * 60_000 }
    tell('harness', { what: 'due', ...fire })
    tell('tables', { what: 'fired', ...fire })
  }
}

function tellEvents({ tell }: Telling, { events, killedAt }: Drawn): void {
  const stream = 'drawn'
  for (const consumer of ['once', 'again']) {
    tell('harness', { what: 'follows', consumer, stream, isOnce: consumer === 'once' })
  }
  for (let offset = 1; offset <= events; offset += 1) {
    const event = { stream, event: `E${offset}` }
    tell('P', { what: 'published', ...event })
    tell('tables', { what: 'sequenced', ...event, offset })
    tell('C1', { what: 'saw', consumer: 'once', ...event, offset })
    tell('C2', { what: 'saw', consumer: 'again', ...event, offset })
    if (killedAt.includes(offset)) tell('C3', { what: 'saw', consumer: 'again', ...event, offset })
  }
}
