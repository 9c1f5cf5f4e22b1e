import { setTimeout as pause } from 'node:timers/promises'
import type { Command } from 'commander'
import { duration, shutdownSignal } from '../../index.ts'
import type { Mill, Stats } from '../../index.ts'
import { DONE } from '../exit-code.ts'
import type { ExitCode } from '../exit-code.ts'
import type { Output } from '../output.ts'
import { runReading } from '../run-command.ts'
import { statsText } from '../stats-text.ts'

export function addStatsCommand(program: Command): void {
  program
    .command('stats')
    .description('show what waits, runs and is dead, by queue and kind')
    .option('-w, --watch', 'again and again, until it is interrupted')
    .option('--every <duration>', 'how often with --watch', '2s')
    .action((given: StatsGiven, command: Command) => {
      const everyMs = duration(given.every)
      return runReading(command, (mill, { output }) =>
        given.watch === true ? watch(mill, output, everyMs) : show(mill, output),
      )
    })
}

interface StatsGiven {
  readonly watch?: boolean
  readonly every: string
}

async function show(mill: Mill, output: Output): Promise<ExitCode> {
  const stats = await mill.jobs.stats()
  output.document(stats, () => statsText(stats))
  return DONE
}

async function watch(mill: Mill, output: Output, everyMs: number): Promise<ExitCode> {
  const signal = shutdownSignal()
  while (!signal.aborted) {
    print(await mill.jobs.stats(), output)
    // The interruption is the way out.
    await pause(everyMs, undefined, { signal }).catch(() => undefined)
  }
  return DONE
}

function print(stats: Stats, output: Output): void {
  if (output.isJson) output.record(stats)
  else output.screen(statsText(stats))
}
