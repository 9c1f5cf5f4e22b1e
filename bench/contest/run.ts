import type { TestServer } from '../../test/support/postgres-server.ts'
import { contenderIn, contenderName } from './contenders.ts'
import type { Contender } from './contenders.ts'
import type { ContestOptions, Part } from './options.ts'
import { contendersOf, isLong, isShort } from './parts.ts'
import { measureDrain } from './phases/drain.ts'
import { measureEnqueue } from './phases/enqueue.ts'
import { measureIdle } from './phases/idle.ts'
import { measureLatency } from './phases/latency.ts'
import { measureSteady } from './phases/steady.ts'
import { medianOf } from './samples.ts'
import type { Figures, Phase, Sample } from './samples.ts'

export interface Listener {
  sample(sample: Sample): void
  /** One measurement failed; the others go on. */
  failure(what: string, error: unknown): void
}

/**
 * The contenders take turns within each part, A B C D A B C D, so that what the machine does
 * meanwhile falls on all of them. Parts of minutes come once, after the rounds, whose medians give
 * them their rates.
 */
export async function runContest(
  server: TestServer,
  options: ContestOptions,
  tell: Listener,
): Promise<readonly Sample[]> {
  const samples: Sample[] = []
  async function take(part: Part, contender: Contender): Promise<void> {
    try {
      const measured = await measure({ server, options, samples }, part, contender)
      samples.push(...measured)
      for (const sample of measured) tell.sample(sample)
    } catch (error) {
      tell.failure(`${part}: ${contenderName(contender)}`, error)
    }
  }
  for (let round = 0; round < options.rounds; round += 1) {
    for (const part of options.parts.filter(isShort)) {
      for (const each of turn(contendersOf(part, options), round)) await take(part, each)
    }
  }
  for (const part of options.parts.filter(isLong)) {
    for (const each of contendersOf(part, options)) await take(part, each)
  }
  return samples
}

/** Each round begins with another one. */
function turn<T>(all: readonly T[], round: number): readonly T[] {
  const first = all.length === 0 ? 0 : round % all.length
  return [...all.slice(first), ...all.slice(0, first)]
}

interface Contest {
  readonly server: TestServer
  readonly options: ContestOptions
  readonly samples: readonly Sample[]
}

async function measure(
  contest: Contest,
  part: Part,
  contender: Contender,
): Promise<readonly Sample[]> {
  const name = contenderName(contender)
  const one = (phase: Phase, figures: Figures): readonly Sample[] => [
    { phase, contender: name, figures },
  ]
  const { server, options } = contest
  const { jobs } = options
  switch (part) {
    case 'enqueue': {
      const measured = await measureEnqueue(server, contender, jobs)
      return measured.flatMap(({ phase, figures }) => one(phase, figures))
    }
    case 'drain':
      return one('drain', await measureDrain(server, contender, allOf(jobs)))
    case 'lean':
      return one('drain lean', await measureDrain(server, contender, allOf(jobs)))
    case 'defaults':
      return one('drain defaults', await measureDrain(server, contender, defaultsOf(jobs)))
    case 'latency':
      return one('latency', await measureLatency(server, contender, latencyJobs(jobs)))
    case 'steady':
      return one(
        'steady',
        await measureSteady(server, contender, loadOf(contest, contender, false)),
      )
    case 'snapshot':
      return one(
        'snapshot',
        await measureSteady(server, contender, loadOf(contest, contender, true)),
      )
    case 'backlog':
      return one('backlog', await measureDrain(server, contender, backlogOf(options)))
    case 'idle':
      return one('idle', await measureIdle(contender, options.idleSeconds))
  }
}

const LIMIT_MS = 300_000
// Some defaults run a job every two seconds: their rate is known long before the end.
const DEFAULTS_LIMIT_MS = 15_000
const LATENCY_JOBS = 300

const allOf = (jobs: number) => ({ waiting: jobs, drained: jobs, limitMs: LIMIT_MS })
const defaultsOf = (jobs: number) => ({ ...allOf(jobs), limitMs: DEFAULTS_LIMIT_MS })
const backlogOf = ({ backlog, jobs }: ContestOptions) => ({
  waiting: backlog,
  drained: Math.min(backlog, jobs),
  limitMs: LIMIT_MS,
})
const latencyJobs = (jobs: number): number => Math.min(LATENCY_JOBS, jobs)

export const SHARE = 0.7

/**
 * Seventy per cent of what a contender can do of both at once: its drain and its bulk enqueue share
 * the machine, so a job costs the time of both.
 */
function loadOf({ options, samples }: Contest, { system }: Contender, isHeld: boolean) {
  const contender = contenderIn(system, 'best')
  const drain = medianOf(samples, { phase: 'drain', contender }, 'rate')
  const bulk = medianOf(samples, { phase: 'bulk', contender }, 'rate')
  const forMs = options.minutes * 60_000
  if (options.rate !== null) return { rate: options.rate, forMs, isHeld }
  if (drain === null || bulk === null) {
    throw new Error(
      `the rate of ${system} is not known: add enqueue and drain to --only, or give --rate`,
    )
  }
  return { rate: Math.floor((SHARE * drain * bulk) / (drain + bulk)), forMs, isHeld }
}
