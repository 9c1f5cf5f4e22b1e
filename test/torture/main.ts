import { startServer } from '../support/postgres-server.ts'
import { chaos } from './chaos/chaos.ts'
import { chaosText } from './chaos/report.ts'
import { violationsOf } from './check.ts'
import { backlogScenario, scaleScenario, snapshotScenario } from './gates.ts'
import { failover, failoverText } from './failover.ts'
import { faultsOf } from './history/faults.ts'
import { countsText, lifecycle } from './lifecycle.ts'
import { migrationsUnderFire } from './migrations/scenario.ts'
import { tortureWords, USAGE } from './options.ts'
import type { TortureWords } from './options.ts'
import { outboxText } from './outbox-evidence.ts'
import { outbox } from './outbox.ts'
import { processes } from './processes.ts'
import { dayText, isExact, schedules } from './schedules.ts'
import { storm } from './storm.ts'
import type { StormOptions } from './storm.ts'
import { stormText } from './stream-evidence.ts'
import { streams } from './streams.ts'
import { summaryText } from './summary.ts'
import { isClean, killsText, transaction } from './transaction.ts'

/** Resolves to whether all was well. */
type Scenario = (words: TortureWords, say: (line: string) => void) => Promise<boolean>

const SCENARIOS: ReadonlyMap<string, Scenario> = new Map([
  ['processes', processesScenario],
  ['lifecycle', lifecycleScenario],
  ['transaction', transactionScenario],
  ['schedules', schedulesScenario],
  ['streams', streamsScenario],
  ['outbox', outboxScenario],
  ['migrations', migrationsScenario],
  ['failover', failoverScenario],
  ['chaos', chaosScenario],
  ['backlog', backlogScenario],
  ['snapshot', snapshotScenario],
  ['scale', scaleScenario],
])

async function processesScenario(words: TortureWords): Promise<boolean> {
  const minutes = words.number('minutes', 5)
  const options = {
    seed: seedOf(words),
    forMs: minutes * 60_000,
    workers: words.number('workers', 3),
    perSecond: words.number('rate', 300),
    leaseMs: words.number('lease', 3_000),
  }
  say(`torture: processes, seed ${options.seed}, ${minutes} minutes`)
  return struck(options)
}

async function struck(options: StormOptions): Promise<boolean> {
  // Durable, since it is crashed: what was acknowledged must be there afterwards.
  const server = await startServer({ settings: { fsync: 'on', max_connections: '200' } })
  try {
    const all = await processes(await server.createDatabase('torture'), { concurrency: 50 })
    try {
      await storm(server, all, options)
      await all.untilDrained(DRAIN_WITHIN).catch(say)
      const evidence = await all.evidence()
      const violations = [...violationsOf(evidence), ...faultsOf(evidence.facts)]
      say(summaryText(evidence, violations))
      return violations.length === 0
    } finally {
      await all.close()
    }
  } finally {
    await server.close()
  }
}

async function lifecycleScenario(words: TortureWords): Promise<boolean> {
  const options = { seed: seedOf(words), sequences: words.number('sequences', 2_000) }
  say(`torture: lifecycle, seed ${options.seed}, ${options.sequences} sequences`)
  try {
    say(countsText(await lifecycle(options)))
    return true
  } catch (error) {
    say(error instanceof Error ? error.message : error)
    return false
  }
}

async function transactionScenario(words: TortureWords): Promise<boolean> {
  const [kills, workers] = [words.number('kills', 1_000), words.number('workers', 3)]
  const options = { seed: seedOf(words), kills, workers }
  say(`torture: transaction, seed ${options.seed}, ${kills} kills`)
  const report = await transaction(options)
  say(killsText(report))
  return isClean(report)
}

async function schedulesScenario(words: TortureWords): Promise<boolean> {
  const [hours, kills] = [words.number('hours', 24), words.number('kills', 60)]
  const options = { seed: seedOf(words), hours, kills, processes: 5, workers: 2 }
  say(`torture: schedules, seed ${options.seed}, ${hours} hours`)
  const report = await schedules(options)
  say(dayText(report))
  return isExact(report)
}

async function streamsScenario(words: TortureWords): Promise<boolean> {
  const minutes = words.number('minutes', 5)
  const options = {
    seed: seedOf(words),
    forMs: minutes * 60_000,
    publishers: 10,
    killWithin: 4_000,
  }
  say(`torture: streams, seed ${options.seed}, ${minutes} minutes`)
  const report = await streams(options)
  say(stormText(report))
  return report.violations.length === 0
}

async function outboxScenario(words: TortureWords): Promise<boolean> {
  const [minutes, workers] = [words.number('minutes', 2), words.number('workers', 4)]
  const options = { seed: seedOf(words), forMs: minutes * 60_000, workers }
  say(`torture: outbox, seed ${options.seed}, ${minutes} minutes`)
  const report = await outbox({ ...options, senders: 8, keys: 20, killWithin: 4_000 })
  say(outboxText(report))
  return report.violations.length === 0
}

async function migrationsScenario(words: TortureWords): Promise<boolean> {
  const options = {
    seed: seedOf(words),
    workers: words.number('workers', 3),
    perSecond: words.number('rate', 500),
    leaseMs: words.number('lease', 3_000),
    jobs: words.number('jobs', 5_000),
  }
  say(`torture: migrations, seed ${options.seed}, ${options.workers} workers of each version`)
  return migrationsUnderFire(options, say)
}

async function failoverScenario(words: TortureWords): Promise<boolean> {
  const [kills, leaseMs] = [words.number('kills', 5), words.number('lease', 3_000)]
  const isSynchronous = !words.hasControl
  const how = { isSynchronous, isHung: words.isHung }
  const options = { seed: seedOf(words), kills, betweenMs: 4_000, leaseMs, ...how }
  say(`torture: failover, seed ${options.seed}, ${kills} kills`)
  const report = await failover(options)
  say(failoverText(report))
  return (report.violations.length === 0) === isSynchronous
}

async function chaosScenario(words: TortureWords): Promise<boolean> {
  const minutes = words.number('minutes', 10)
  const [seed, workers] = [seedOf(words), words.number('workers', 3)]
  say(`torture: chaos, seed ${seed}, ${minutes} minutes`)
  const load = { workers, producers: 2, everyMs: 60 }
  const report = await chaos({ seed, forMs: minutes * 60_000, ...load, isShort: false })
  say(chaosText(report))
  return report.violations.length === 0
}

const DRAIN_WITHIN = 180_000

function seedOf(words: TortureWords): number {
  return words.number('seed', Date.now() % 1_000_000)
}

function say(line: unknown): void {
  process.stdout.write(`${String(line)}\n`)
}

/** `npm run torture`: scenario after scenario, all of them even after one that failed. */
async function main(words: TortureWords): Promise<void> {
  const asked = words.scenarios.map((name) => SCENARIOS.get(name))
  if (words.isHelp || asked.includes(undefined)) {
    say(USAGE)
    process.exitCode = words.isHelp ? 0 : 2
    return
  }
  for (const scenario of asked) {
    if ((await scenario?.(words, say)) === false) process.exitCode = 1
  }
}

await main(tortureWords(process.argv.slice(2)))
