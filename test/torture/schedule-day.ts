import { fork } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { Client } from 'pg'
import { open } from 'millrace'
import { until } from '../support/until.ts'
import type { Fact } from './history/fact.ts'
import { faultsOf } from './history/faults.ts'
import { between, seededRandom } from './random.ts'
import type { Random } from './random.ts'

/**
 * Schedules of five seconds and of five minutes, fired by workers in several processes through a
 * virtual day (S2, races 31): the clocks of the processes go apart by up to four seconds, and one
 * process after another is killed at any moment. Each boundary must have been fired exactly once.
 */
export interface DayOptions {
  readonly seed: number
  /** How much of a virtual day. */
  readonly hours: number
  readonly processes: number
  /** Of each process, each with a client of its own. */
  readonly workers: number
  readonly kills: number
}

export interface DayReport {
  readonly kills: number
  /** Boundaries that there were, of the plain schedule and of the one with a key. */
  readonly plain: number
  readonly keyed: number
  /** Jobs, and merged asks, that were found for them. */
  readonly fired: number
  readonly merged: number
  /** Boundaries that were not fired, or more than once, or were none. */
  readonly violations: readonly string[]
  readonly tookMs: number
}

const START = Date.UTC(2025, 2, 30)
const SECOND = 1_000
const STEP = 5 * SECOND
const APART = 4 * SECOND
const PROGRAM = fileURLToPath(new URL('schedule-worker.mjs', import.meta.url))

/** On an empty database. */
export async function scheduleDay(url: string, options: DayOptions): Promise<DayReport> {
  const { hours, kills } = options
  const began = performance.now()
  await (await open(url, { migrate: 'auto', logger: false })).close()
  const sql = new Client({ connectionString: url })
  await sql.connect()
  const random = seededRandom(options.seed)
  const crowd = new Crowd(url, options, random)
  try {
    await crowd.start()
    // The last boundary of the day: midnight is the first of the next.
    const end = START + hours * 3_600 * SECOND - STEP
    const killEvery = Math.max(1, Math.floor((end - START) / STEP / 6 / (kills + 1)))
    for (let now = START, step = 1; now < end; step += 1) {
      now = Math.min(end, now + STEP * between(random, 1, 11))
      const killing = step % killEvery === 0 && crowd.killed < kills ? crowd.kill() : undefined
      await reach(now, { sql, crowd, random })
      await killing
    }
    const report = await reportOf(sql, end)
    return { ...report, kills: crowd.killed, tookMs: Math.round(performance.now() - began) }
  } finally {
    await crowd.close()
    await sql.end()
  }
}

interface Scene {
  readonly sql: Client
  readonly crowd: Crowd
  readonly random: Random
}

/** Moves the clocks until everything up to this instant is fired; a little further each time, since those who met a lock wait by them. */
async function reach(now: number, { sql, crowd, random }: Scene): Promise<void> {
  for (let nudge = 0; nudge < STEP; nudge += 10) {
    crowd.advance(now + nudge, random)
    for (let look = 0; look < 10; look += 1) {
      const { rows } = await sql.query(
        'select 1 from millrace.schedules where next_fire_at <= $1 limit 1',
        [new Date(now)],
      )
      if (rows.length === 0) return
      await pause(5)
    }
  }
  throw new Error(`what was due at ${new Date(now).toISOString()} was not fired`)
}

class Crowd {
  killed = 0
  readonly #children: ChildProcess[] = []
  readonly #url: string
  readonly #options: DayOptions
  readonly #random: Random
  #now = START

  constructor(url: string, options: DayOptions, random: Random) {
    this.#url = url
    this.#options = options
    this.#random = random
  }

  async start(): Promise<void> {
    const starting = Array.from({ length: this.#options.processes }, () => this.#startOne())
    this.#children.push(...(await Promise.all(starting)))
  }

  /** One clock is right, the others are behind. */
  advance(now: number, random: Random): void {
    this.#now = now
    const right = between(random, 0, this.#children.length - 1)
    for (const [index, child] of this.#children.entries()) {
      const to = index === right ? now : now - between(random, 0, APART)
      if (child.connected) child.send({ to })
    }
  }

  /** At some moment of what is going on now; another takes its place. */
  async kill(): Promise<void> {
    await pause(between(this.#random, 0, 25))
    const index = between(this.#random, 0, this.#children.length - 1)
    const child = this.#children[index]
    if (child === undefined) return
    const gone = once(child, 'exit')
    child.kill('SIGKILL')
    await gone
    this.killed += 1
    this.#children[index] = await this.#startOne()
  }

  async close(): Promise<void> {
    const exits = this.#children.map((child) => once(child, 'exit'))
    for (const child of this.#children) child.kill('SIGKILL')
    await Promise.all(exits)
  }

  async #startOne(): Promise<ChildProcess> {
    const { workers } = this.#options
    const settings = JSON.stringify({ url: this.#url, now: this.#now - APART, workers })
    const child = fork(PROGRAM, [settings], { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] })
    let isReady = false
    child.on('message', () => {
      isReady = true
    })
    await until(() => isReady || child.exitCode !== null, { ms: 60_000, every: 2 })
    return child
  }
}

const FIRED = `
  select schedule, (extract(epoch from boundary) * 1000)::float8 as boundary, 'job' as made
  from millrace.jobs where schedule is not null
  union all
  select schedule, (extract(epoch from boundary) * 1000)::float8, 'merge'
  from millrace.journal where schedule is not null`

async function reportOf(sql: Client, end: number): Promise<Omit<DayReport, 'kills' | 'tookMs'>> {
  const { rows } = await sql.query<{ schedule: string; boundary: number; made: string }>(FIRED)
  // A nudge may have gone a little beyond the day.
  const fired = rows.filter(({ boundary }) => boundary <= end)
  const [plain, keyed] = [dueOf('plain', STEP, end), dueOf('keyed', 60 * STEP, end)]
  const facts = fired.map(({ schedule, boundary }): Fact => {
    return { at: boundary, process: 'tables', what: 'fired', schedule, boundary }
  })
  return {
    plain: plain.length,
    keyed: keyed.length,
    fired: fired.filter(({ made }) => made === 'job').length,
    merged: fired.filter(({ made }) => made === 'merge').length,
    violations: faultsOf([...plain, ...keyed, ...facts]),
  }
}

/** The first process registered both a little before the day began. */
function dueOf(schedule: string, every: number, end: number): readonly Fact[] {
  const due: Fact[] = []
  for (let boundary = START; boundary <= end; boundary += every) {
    due.push({ at: boundary, process: 'harness', what: 'due', schedule, boundary })
  }
  return due
}
