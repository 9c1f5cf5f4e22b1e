import type { Command } from 'commander'
import type { Mill, ScheduleRecord } from '../../index.ts'
import { DONE, NO } from '../exit-code.ts'
import type { ExitCode } from '../exit-code.ts'
import { table } from '../output.ts'
import type { Output } from '../output.ts'
import { runReading, runWithMill } from '../run-command.ts'
import { countOption } from '../values.ts'

export function addSchedulesCommands(program: Command): void {
  const group = program.command('schedules').description('look at schedules, and decide about them')
  addLooks(group)
  addDecisions(group)
  group
    .command('run')
    .description('enqueue its job now, paused or not')
    .argument('<schedule>')
    .action((name: string, _options: object, command: Command) =>
      runWithMill(command, async (mill, { output }) => {
        const result = await mill.schedules.runNow(name)
        output.document(result, () => `${result.id} ${result.outcome}`)
        return DONE
      }),
    )
}

function addLooks(group: Command): void {
  group
    .command('list')
    .description('list the schedules, by name')
    .action((_options: object, command: Command) => runReading(command, list))
  group
    .command('next')
    .description('show when it fires next; of a paused one, when it would')
    .argument('<schedule>')
    .option('--count <number>', 'how many fires', '5')
    .action(async (name: string, given: { readonly count: string }, command: Command) => {
      const count = countOption('--count', given.count, 1)
      await runReading(command, async (mill, { output }) => {
        const next = await mill.schedules.next(name, count)
        output.document({ name, next }, () => next.map((at) => at.toISOString()).join('\n'))
        return DONE
      })
    })
}

function addDecisions(group: Command): void {
  for (const verb of ['pause', 'resume'] as const) {
    group
      .command(verb)
      .description(WHAT_IT_DOES[verb])
      .argument('<schedule>')
      .action((name: string, _options: object, command: Command) =>
        runWithMill(command, async (mill, { output }) => {
          await mill.schedules[verb](name)
          return await told(mill, output, name)
        }),
      )
  }
  group
    .command('remove')
    .description('end it; jobs that it fired stay')
    .argument('<schedule>')
    .action((name: string, _options: object, command: Command) =>
      runWithMill(command, async (mill, { output }) => {
        const removed = await mill.schedules.remove(name)
        output.document({ name, removed }, () => `${name} ${removed ? 'removed' : 'was not there'}`)
        return removed ? DONE : NO
      }),
    )
}

const WHAT_IT_DOES = {
  pause: 'it fires no more',
  resume: 'it fires again, from its next boundary on',
} as const

async function list(mill: Mill, { output }: { readonly output: Output }): Promise<ExitCode> {
  const schedules = await mill.schedules.list()
  if (output.isJson) for (const each of schedules) output.record(each)
  else output.text(schedules.length === 0 ? 'no schedules' : scheduleTable(schedules))
  return DONE
}

function scheduleTable(schedules: readonly ScheduleRecord[]): string {
  const rows = schedules.map((each) => [
    each.name,
    each.kind,
    timingText(each),
    each.paused ? 'paused' : each.nextFireAt,
    each.lastFireAt,
    each.lastJobId,
  ])
  return table(['schedule', 'kind', 'when', 'next', 'last', 'last job'], rows)
}

function timingText({ cron, everyMs, timezone }: ScheduleRecord): string {
  return cron === null ? `every ${everyMs} ms` : `${cron} ${timezone}`
}

async function told(mill: Mill, output: Output, name: string): Promise<ExitCode> {
  const all = await mill.schedules.list()
  const record = all.find((each) => each.name === name)
  const next = record?.nextFireAt
  output.document(record ?? null, () => {
    return `${name} ${next ? `fires next at ${next.toISOString()}` : 'is paused'}`
  })
  return record === undefined ? NO : DONE
}
