import { startServer } from '../test/support/postgres-server.ts'
import { contest } from './contest/contest.ts'
import { CONTEST_USAGE, contestOptions } from './contest/options.ts'
import type { TestServer } from '../test/support/postgres-server.ts'
import { environmentOf, SERVER_SETTINGS } from './environment.ts'
import { benchOptions, USAGE } from './options.ts'
import type { BenchOptions } from './options.ts'
import { measureStreams, streamsText } from './phases/streams.ts'
import type { StreamsResult } from './phases/streams.ts'
import { reportText } from './report.ts'
import { measureRound } from './round.ts'
import type { Round } from './round.ts'

/**
 * `npm run bench`: what a worker and a producer do on a PostgreSQL of their own, durable as in
 * production. Machines differ and are noisy, so compare only rounds of one run; processor time per
 * job is the steadier figure.
 */
async function bench(options: BenchOptions): Promise<void> {
  const server = await startServer({ settings: SERVER_SETTINGS })
  try {
    if (options.isStreams) return await benchStreams(server, options)
    const environment = await environmentOf(server)
    const rounds: Round[] = []
    while (rounds.length < options.rounds) rounds.push(await measureRound(server, options))
    const text = options.json
      ? JSON.stringify({ environment, options, rounds })
      : reportText(environment, options, rounds)
    process.stdout.write(`${text}\n`)
  } finally {
    await server.close()
  }
}

async function benchStreams(server: TestServer, options: BenchOptions): Promise<void> {
  const rounds: StreamsResult[] = []
  while (rounds.length < options.rounds) rounds.push(await measureStreams(server, options.jobs))
  const text = options.json ? JSON.stringify({ options, rounds }) : streamsText(rounds)
  process.stdout.write(`${text}\n`)
}

const words = process.argv.slice(2)
const [command] = words
if (words.includes('--help')) process.stdout.write(`${USAGE}\n${CONTEST_USAGE}`)
else if (command === 'peers' || command === 'limit') {
  await contest(contestOptions(command, words.slice(1)))
} else await bench(benchOptions(words))
