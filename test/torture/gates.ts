import { SERVER_SETTINGS } from '../../bench/environment.ts'
import { startServer } from '../support/postgres-server.ts'
import type { TestServer } from '../support/postgres-server.ts'
import { backlog } from './backlog.ts'
import type { TortureWords } from './options.ts'
import { gateText, holds } from './ratio.ts'
import type { Gate } from './ratio.ts'
import { scale } from './scale.ts'
import { snapshot } from './snapshot.ts'

/** Scenarios that measure, and end in gates: each on a server of its own with the settings of the bench. */
export type GateScenario = (words: TortureWords, say: Say) => Promise<boolean>

type Say = (line: string) => void

export const backlogScenario: GateScenario = (words, say) =>
  gated(say, async (server) => {
    const jobs = words.number('jobs', 1_000_000)
    const [steps, slots] = [words.number('steps', 100), words.number('slots', 50)]
    say(
      `torture: backlog, ${jobs} ready, later in better levels and finished, ${steps} claims of ${slots}`,
    )
    const sizes = { ready: jobs, future: jobs, finished: jobs, unknown: Math.round(jobs / 5) }
    const options = { ...sizes, steps, slots, say }
    return (await backlog(await server.createDatabase('backlog'), options)).gates
  })

export const snapshotScenario: GateScenario = (words, say) =>
  gated(say, async (server) => {
    const [held, baseline] = [words.number('minutes', 20), words.number('baseline', 3)]
    say(`torture: snapshot, ${baseline} minutes without, ${held} minutes held`)
    const options = {
      baselineMs: baseline * MINUTE,
      heldMs: held * MINUTE,
      everyMs: words.number('every', 60) * 1_000,
      rate: words.number('rate', null),
      share: words.number('share', 0.6),
      mostMs: MOST_FOR,
      concurrency: words.number('slots', 100),
      releaseMs: MINUTE,
      say,
    }
    const urls = {
      held: await server.createDatabase('held'),
      control: words.hasControl ? await server.createDatabase('control') : null,
    }
    return (await snapshot(urls, options)).gates
  })

export const scaleScenario: GateScenario = (words, say) =>
  gated(say, async (server) => {
    const options = {
      jobs: words.number('jobs', 60_000),
      rounds: words.number('rounds', 5),
      processes: words.number('workers', 4),
      concurrency: words.number('slots', 100),
      warm: 5_000,
      say,
    }
    say(`torture: scale, ${options.rounds} rounds of ${options.jobs} jobs`)
    return (await scale(server, options)).gates
  })

const MINUTE = 60_000
const MOST_FOR = 20_000

async function gated(
  say: Say,
  measure: (server: TestServer) => Promise<readonly Gate[]>,
): Promise<boolean> {
  await using server = await startServer({ settings: SERVER_SETTINGS })
  const gates = await measure(server)
  for (const gate of gates) say(gateText(gate))
  return gates.every(holds)
}
