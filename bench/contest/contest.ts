import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { startServer } from '../../test/support/postgres-server.ts'
import { environmentOf, SERVER_SETTINGS } from '../environment.ts'
import { SYSTEMS } from './contenders.ts'
import { goalsText } from './goals.ts'
import { installPeers } from './install.ts'
import type { ContestOptions } from './options.ts'
import { runContest, SHARE } from './run.ts'
import type { Sample } from './samples.ts'
import { environmentText, tablesText } from './tables.ts'

/**
 * `npm run bench -- peers` and `-- limit`: the same jobs on the same server for Millrace and for
 * others, each measurement in a fresh process at an empty place. Only ratios within one run count.
 */
export async function contest(options: ContestOptions): Promise<void> {
  if (options.systems.some((system) => SYSTEMS[system].isPeer)) installPeers()
  const server = await startServer({ settings: SERVER_SETTINGS })
  try {
    const environment = await environmentOf(server)
    const failures: string[] = []
    const samples = await runContest(server, options, {
      sample: tellProgress,
      failure(what, error) {
        failures.push(`${what}: ${error instanceof Error ? error.message : String(error)}`)
        process.stderr.write(`failed: ${failures.at(-1)}\n`)
        process.exitCode = 1
      },
    })
    const text = options.json
      ? JSON.stringify({ environment, options, samples, failures })
      : [
          environmentText(environment, contestLines(options)),
          tablesText(samples),
          NOTES,
          ...failures.map((failure) => `FAILED: ${failure}`),
          goalsText(samples),
        ].join('\n\n')
    process.stdout.write(`${text}\n`)
  } finally {
    await server.close()
  }
}

// What a reader must know to judge the tables.
const NOTES = `### How it was measured

- A rate is that of the jobs after the first handler call, from that call to the last. CPU is from before the worker starts until it has stopped, so that the last record counts.
- Configurations are in bench/contest/millrace.mjs, bench/peers/*.mjs and bench/limit/bare-loop.mjs. graphile-worker keeps nothing of what completed; pg-boss keeps it and has one handler call per batch; BullMQ keeps it in memory, and a crash of its Redis loses what it acknowledged.
- "Nothing kept" is Millrace's \`keep: { completed: 0 }\`: the record is written and removed by later housekeeping, which is not in the window.
- WAL per job of a drain is that of the enqueue in bulk and the drain together, after a checkpoint.
- A steady load is ${SHARE * 100} % of what the contender can do of both at once, 1 / (1 / drain + 1 / bulk), or what --rate says. Waits begin at the instant a job was meant to be enqueued.
- RSS is the peak of a process that only drains. Machines are noisy: compare within one run only.`

function contestLines(options: ContestOptions): readonly string[] {
  const { jobs, rounds, systems } = options
  const redis = systems.includes('bullmq') ? [redisLine()] : []
  return [
    ...redis,
    versionsLine(options),
    `${jobs} no-op jobs of { number, at }, one worker process, a fresh process and place for each measurement, in turns; rounds: ${rounds}`,
  ]
}

function redisLine(): string {
  const { stdout } = spawnSync('redis-server', ['--version'], { encoding: 'utf8' })
  const version = /v=(\S+)/.exec(stdout)?.[1] ?? 'unknown'
  return `Redis ${version}, nothing on disk (save "", appendonly no)`
}

function versionsLine({ systems }: ContestOptions): string {
  const text = readFileSync(new URL('../peers/package.json', import.meta.url), 'utf8')
  const versions = systems.flatMap((system) => {
    const version = new RegExp(`"${system}": "(.+?)"`).exec(text)?.[1]
    return version === undefined ? [] : [`${system} ${version}`]
  })
  return ['Millrace from dist', ...versions].join(', ')
}

function tellProgress({ phase, contender, figures }: Sample): void {
  const words = Object.entries(figures).map(([name, value]) => `${name} ${short(value)}`)
  process.stderr.write(`${phase}: ${contender}: ${words.join(', ')}\n`)
}

function short(value: number | null): string {
  return value === null ? '–' : String(Number(value.toPrecision(4)))
}
