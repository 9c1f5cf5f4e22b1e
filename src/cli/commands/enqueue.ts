import { text as readAll } from 'node:stream/consumers'
import { Option } from 'commander'
import type { Command } from 'commander'
import { defineJob, duration, typed } from '../../index.ts'
import type { EnqueueOptions, Mill } from '../../index.ts'
import { InvalidOptionError } from '../../errors.ts'
import { DONE } from '../exit-code.ts'
import type { ExitCode } from '../exit-code.ts'
import type { Output } from '../output.ts'
import { runWithMill } from '../run-command.ts'
import { instantOption, priorityOption } from '../values.ts'

export function addEnqueueCommand(program: Command): void {
  program
    .command('enqueue')
    .description('ask for a job')
    .argument('<kind>', 'the name that its handler goes by')
    .argument('[json]', 'its input; - reads it from standard input')
    .option('-q, --queue <name>', 'where workers claim it (default: default)')
    .option('--priority <0-9>', 'or high, normal, low; 0 comes first (default: normal)')
    .addOption(
      new Option('--delay <duration>', 'not before it has passed: 30s, 5m').conflicts('at'),
    )
    .option('--at <instant>', 'not before it: 2030-01-31T12:00:00Z')
    .option('--expires <duration>', 'never started once it has passed')
    .option('--timeout <duration>', 'how long one run may take (default: no limit)')
    .option('--failures <number>', 'dead at this failure (default: 10)')
    .option('--id <ulid>', 'an id of your own: the same id again is the same job')
    .action(async (...[kind, json, given, command]: Words) => {
      const asked = { kind, input: await inputOf(json), options: enqueueOptions(given) }
      await runWithMill(command, (mill, { output }) => enqueue(mill, output, asked))
    })
}

type Words = readonly [kind: string, json: string | undefined, given: Given, command: Command]

interface Given {
  readonly queue?: string
  readonly priority?: string
  readonly delay?: string
  readonly at?: string
  readonly expires?: string
  readonly timeout?: string
  readonly failures?: string
  readonly id?: string
}

interface Asked {
  readonly kind: string
  readonly input: unknown
  readonly options: EnqueueOptions
}

async function enqueue(mill: Mill, output: Output, asked: Asked): Promise<ExitCode> {
  const kind = defineJob(asked.kind, { input: typed<unknown>() })
  const result = await mill.enqueue(kind, asked.input, asked.options)
  output.document(result, () => `${result.id} ${result.outcome}`)
  return DONE
}

/** JSON from the command line; `-` reads it from standard input. */
export async function inputOf(json: string | undefined): Promise<unknown> {
  if (json === undefined) return null
  return parseInput(json === '-' ? await readAll(process.stdin) : json)
}

function parseInput(text: string): unknown {
  const long = longInteger(text)
  if (long !== undefined) {
    throw new InvalidOptionError('json', long, 'a number would lose digits. Pass it as text.')
  }
  try {
    return JSON.parse(text)
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause)
    throw new InvalidOptionError(
      'json',
      text,
      `it is not JSON (${why}). Quote it for the shell: '{"a":1}'`,
    )
  }
}

/** The first integer outside of strings that a JavaScript number cannot hold. */
function longInteger(text: string): string | undefined {
  const withoutStrings = text.replaceAll(/"(?:[^"\\]|\\.)*"/g, '""')
  const integers = withoutStrings.match(/-?\b\d{16,}(?![\d.eE])/g) ?? []
  return integers.find((each) => !Number.isSafeInteger(Number(each)))
}

function enqueueOptions(given: Given): EnqueueOptions {
  return {
    queue: given.queue,
    priority:
      given.priority === undefined ? undefined : priorityOption('--priority', given.priority),
    expires: millisecondsOf(given.expires),
    timeout: millisecondsOf(given.timeout),
    retry: given.failures === undefined ? undefined : { failures: Number(given.failures) },
    id: given.id,
    ...(given.at === undefined
      ? { delay: millisecondsOf(given.delay) }
      : { at: instantOption('--at', given.at) }),
  }
}

function millisecondsOf(text: string | undefined): number | undefined {
  return text === undefined ? undefined : duration(text)
}
