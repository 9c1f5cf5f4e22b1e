import { parseArgs } from 'node:util'
import { startServer } from '../support/postgres-server.ts'
import { violationsOf } from './check.ts'
import { countsText, lifecycle } from './lifecycle.ts'
import type { LifecycleOptions } from './lifecycle.ts'
import { processes } from './processes.ts'
import { storm } from './storm.ts'
import type { StormOptions } from './storm.ts'
import { summaryText } from './summary.ts'
import { stormText } from './stream-evidence.ts'
import { streams } from './streams.ts'
import type { StreamStorm } from './streams.ts'
import { isClean, killsText, transaction } from './transaction.ts'
import type { KillOptions } from './transaction-kills.ts'

const USAGE = `usage: npm run torture -- [processes] [options]
       npm run torture -- lifecycle [--sequences <n>] [--seed <n>]
       npm run torture -- transaction [--kills <n>] [--workers <n>] [--seed <n>]
       npm run torture -- streams [--minutes <n>] [--seed <n>]

processes: workers and producers as processes of their own, struck in every way

  --minutes <n>     how long to strike (5)
  --seed <n>        what happens, in which order (of the clock)
  --workers <n>     worker processes (3)
  --rate <n>        jobs a second (300)
  --lease <ms>      how long a lease lasts (3000)

lifecycle: one act after another on a mill and on a model of it, compared after each

  --sequences <n>   how many (2000)
  --seed <n>        what is drawn (of the clock)

transaction: processes killed between an effect and the commit of run.transaction

  --kills <n>       how many (1000)
  --workers <n>     processes at the same time (3)
  --seed <n>        when (of the clock)

streams: ten publishers whose transactions commit in any order, and six consumers killed at random

  --minutes <n>     how long to publish (5)
  --seed <n>        what happens, in which order (of the clock)
`

/** `npm run torture`: exits 1 when anything was lost, doubled, or run twice at once. */
async function torture(options: StormOptions): Promise<boolean> {
  // Durable, since it is crashed: what was acknowledged must be there afterwards.
  const server = await startServer({ settings: { fsync: 'on', max_connections: '200' } })
  try {
    const all = await processes(await server.createDatabase('torture'), { concurrency: 50 })
    try {
      await storm(server, all, options)
      await all.untilDrained(DRAIN_WITHIN).catch(say)
      const evidence = await all.evidence()
      const violations = violationsOf(evidence)
      say(summaryText(evidence, violations))
      return violations.length === 0
    } finally {
      await all.close()
    }
  } finally {
    await server.close()
  }
}

const DRAIN_WITHIN = 180_000

function say(line: unknown): void {
  process.stdout.write(`${String(line)}\n`)
}

type Scenario =
  | { readonly name: 'processes'; readonly options: StormOptions }
  | { readonly name: 'lifecycle'; readonly options: LifecycleOptions }
  | { readonly name: 'transaction'; readonly options: KillOptions }
  | { readonly name: 'streams'; readonly options: StreamStorm }

function scenarioOf(words: readonly string[]): Scenario | null {
  const { values, positionals } = parseArgs({
    args: [...words],
    allowPositionals: true,
    options: {
      help: { type: 'boolean', default: false },
      minutes: { type: 'string', default: '5' },
      seed: { type: 'string', default: String(Date.now() % 1_000_000) },
      workers: { type: 'string', default: '3' },
      rate: { type: 'string', default: '300' },
      lease: { type: 'string', default: '3000' },
      sequences: { type: 'string', default: '2000' },
      kills: { type: 'string', default: '1000' },
    },
  })
  const [name = 'processes', ...more] = positionals
  const seed = Number(values.seed)
  if (values.help || more.length > 0) return null
  if (name === 'lifecycle') {
    return { name, options: { seed, sequences: Number(values.sequences) } }
  }
  if (name === 'transaction') {
    const [kills, workers] = [Number(values.kills), Number(values.workers)]
    return { name, options: { seed, kills, workers } }
  }
  if (name === 'streams') {
    const forMs = Number(values.minutes) * 60_000
    return { name, options: { seed, forMs, publishers: 10, killWithin: 4_000 } }
  }
  if (name !== 'processes') return null
  const storm = {
    forMs: Number(values.minutes) * 60_000,
    workers: Number(values.workers),
    perSecond: Number(values.rate),
    leaseMs: Number(values.lease),
  }
  return { name, options: { seed, ...storm } }
}

async function suffered(scenario: Scenario): Promise<boolean> {
  const { name, options } = scenario
  if (scenario.name === 'processes') {
    say(`torture: ${name}, seed ${options.seed}, ${scenario.options.forMs / 60_000} minutes`)
    return torture(scenario.options)
  }
  if (scenario.name === 'transaction') {
    say(`torture: ${name}, seed ${options.seed}, ${scenario.options.kills} kills`)
    const report = await transaction(scenario.options)
    say(killsText(report))
    return isClean(report)
  }
  if (scenario.name === 'streams') {
    say(`torture: ${name}, seed ${options.seed}, ${scenario.options.forMs / 60_000} minutes`)
    const report = await streams(scenario.options)
    say(stormText(report))
    return report.violations.length === 0
  }
  say(`torture: ${name}, seed ${options.seed}, ${scenario.options.sequences} sequences`)
  try {
    say(countsText(await lifecycle(scenario.options)))
    return true
  } catch (error) {
    say(error instanceof Error ? error.message : error)
    return false
  }
}

const scenario = scenarioOf(process.argv.slice(2))
if (scenario === null) {
  say(USAGE)
} else {
  process.exitCode = (await suffered(scenario)) ? 0 : 1
}
