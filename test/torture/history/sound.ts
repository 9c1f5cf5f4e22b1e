import type { About, Fact } from './fact.ts'

/** Facts that are told one after the other, a millisecond apart unless `later` says more. */
export interface Telling {
  readonly facts: readonly Fact[]
  tell(process: string, about: About): void
  later(ms: number): number
}

export function telling(from = 1_000_000): Telling {
  const facts: Fact[] = []
  let now = from
  return {
    facts,
    tell(process, about) {
      now += 1
      facts.push({ at: now, process, ...about })
    },
    later(ms) {
      now += ms
      return now
    },
  }
}

/**
 * One history with something of everything and no fault: a job that fails once and then completes by
 * another worker, one that was taken from a killed worker, one that waits; an ask that was rolled
 * back, a schedule, a stream with two consumers, a lock that three had.
 */
export function soundHistory(): readonly Fact[] {
  const story = telling()
  tellJobs(story)
  tellSchedule(story)
  tellStream(story)
  tellLock(story)
  return story.facts
}

function tellJobs({ tell, later }: Telling): void {
  const caps = { concurrency: 2, queues: { mail: 1 }, kinds: { send: 1 } }
  for (const worker of ['A', 'B']) tell(worker, { what: 'joined', worker, ...caps })
  const asked = later(1_000)
  const ask = { what: 'enqueued', dueAt: asked, expiresAt: asked + 60_000 } as const
  for (const [index, job] of ['J1', 'J2', 'J3'].entries()) tell('P', { ...ask, job, ask: index })
  tell('P', { what: 'rolled-back', ask: 3 })

  const run = { kind: 'send', queue: 'mail', isTransactional: true } as const
  // J1 fails in A, is due half a second later, and completes in B.
  const first = later(10)
  tell('A', { what: 'began', job: 'J1', run: 1, worker: 'A', ...run })
  later(20)
  tell('A', { what: 'returned', job: 'J1', run: 1 })
  const failed = later(5)
  tell('A', { what: 'settled', job: 'J1', run: 1, worker: 'A', outcome: 'retried', applied: true })
  later(500)
  const second = later(10)
  tell('B', { what: 'began', job: 'J1', run: 2, worker: 'B', ...run })
  later(20)
  tell('B', { what: 'returned', job: 'J1', run: 2 })
  const done = later(5)
  tell('B', {
    what: 'settled',
    job: 'J1',
    run: 2,
    worker: 'B',
    outcome: 'completed',
    applied: true,
  })

  // J2 is with A, which is killed; B takes it over.
  const lost = later(10)
  tell('A', { what: 'began', job: 'J2', run: 1, worker: 'A', ...run })
  const killed = later(10)
  tell('harness', { what: 'struck', how: 'kill', target: 'A', from: killed, to: null })
  const taken = later(4_000)
  later(1_000)
  const again = later(10)
  tell('B', { what: 'began', job: 'J2', run: 2, worker: 'B', ...run })
  later(20)
  tell('B', { what: 'returned', job: 'J2', run: 2 })
  const ended = later(5)
  tell('B', {
    what: 'settled',
    job: 'J2',
    run: 2,
    worker: 'B',
    outcome: 'completed',
    applied: true,
  })

  const record = { what: 'recorded', dueAt: null, outcome: 'completed' } as const
  const retried = { outcome: 'retried', dueAt: failed + 500 }
  const gone = { outcome: 'stale-recovered', dueAt: taken + 1_000 }
  tell('tables', {
    ...record,
    job: 'J1',
    run: 1,
    worker: 'A',
    startedAt: first,
    recordedAt: failed,
    ...retried,
  })
  tell('tables', { ...record, job: 'J1', run: 2, worker: 'B', startedAt: second, recordedAt: done })
  tell('tables', {
    ...record,
    job: 'J2',
    run: 1,
    worker: 'A',
    startedAt: lost,
    recordedAt: taken,
    ...gone,
  })
  tell('tables', { ...record, job: 'J2', run: 2, worker: 'B', startedAt: again, recordedAt: ended })
  tell('tables', { what: 'placed', job: 'J1', ask: 0, places: ['finished'] })
  tell('tables', { what: 'placed', job: 'J2', ask: 1, places: ['finished'] })
  tell('tables', { what: 'placed', job: 'J3', ask: 2, places: ['ready'] })
  tell('tables', { what: 'effect', job: 'J1', run: 2, worker: 'B' })
  tell('tables', { what: 'effect', job: 'J2', run: 2, worker: 'B' })
}

function tellSchedule({ tell }: Telling): void {
  for (const boundary of [60_000, 120_000, 180_000]) {
    tell('harness', { what: 'due', schedule: 'hourly', boundary })
    tell('tables', { what: 'fired', schedule: 'hourly', boundary })
  }
}

function tellStream({ tell }: Telling): void {
  const stream = 'orders'
  tell('harness', { what: 'follows', consumer: 'totals', stream, isOnce: true })
  tell('harness', { what: 'follows', consumer: 'mailer', stream, isOnce: false })
  for (const [index, event] of ['E1', 'E2', 'E3', 'E4'].entries()) {
    const offset = index + 1
    tell('P', { what: 'published', stream, event })
    tell('tables', { what: 'sequenced', stream, event, offset })
    tell('C1', { what: 'saw', consumer: 'totals', stream, event, offset })
    tell('C2', { what: 'saw', consumer: 'mailer', stream, event, offset })
  }
  // Killed before it acknowledged: it goes on with the last again.
  tell('C3', { what: 'saw', consumer: 'mailer', stream, event: 'E4', offset: 4 })
}

function tellLock({ tell, later }: Telling): void {
  const lock = 'storm'
  const from = later(100)
  tell('A', { what: 'took', lock, token: 1, from, until: from + 400 })
  later(200)
  tell('A', { what: 'extended', lock, token: 1, until: from + 600 })
  tell('A', { what: 'let-go', lock, token: 1 })
  const next = later(10)
  tell('B', { what: 'took', lock, token: 2, from: next, until: next + 400 })
  // B stalls; its term ends.
  const last = later(400)
  tell('A', { what: 'took', lock, token: 3, from: last, until: last + 400 })
}
