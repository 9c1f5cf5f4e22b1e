import { parseArgs } from 'node:util'
import { startServer } from '../support/postgres-server.ts'
import { violationsOf } from './check.ts'
import { processes } from './processes.ts'
import { storm } from './storm.ts'
import type { StormOptions } from './storm.ts'
import { summaryText } from './summary.ts'

const USAGE = `usage: npm run torture -- processes [options]

  --minutes <n>     how long to strike (5)
  --seed <n>        what happens, in which order (of the clock)
  --workers <n>     worker processes (3)
  --rate <n>        jobs a second (300)
  --lease <ms>      how long a lease lasts (3000)
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

function optionsOf(words: readonly string[]): StormOptions | null {
  const { values, positionals } = parseArgs({
    args: [...words],
    allowPositionals: true,
    options: {
      minutes: { type: 'string', default: '5' },
      seed: { type: 'string', default: String(Date.now() % 1_000_000) },
      workers: { type: 'string', default: '3' },
      rate: { type: 'string', default: '300' },
      lease: { type: 'string', default: '3000' },
    },
  })
  if (positionals.some((scenario) => scenario !== 'processes')) return null
  return {
    seed: Number(values.seed),
    forMs: Number(values.minutes) * 60_000,
    workers: Number(values.workers),
    perSecond: Number(values.rate),
    leaseMs: Number(values.lease),
  }
}

const options = process.argv.includes('--help') ? null : optionsOf(process.argv.slice(2))
if (options === null) {
  say(USAGE)
} else {
  say(`torture: processes, seed ${options.seed}, ${options.forMs / 60_000} minutes`)
  process.exitCode = (await torture(options)) ? 0 : 1
}
