import { setTimeout as pause } from 'node:timers/promises'
import type { Command } from 'commander'
import { defineStream, shutdownSignal, typed } from '../../index.ts'
import type { Mill, StreamDefinition, StreamEvent } from '../../index.ts'
import { DONE } from '../exit-code.ts'
import type { ExitCode } from '../exit-code.ts'
import { printable, table } from '../output.ts'
import type { Output } from '../output.ts'
import { runReading, runWithMill } from '../run-command.ts'
import { beforeOption, countOption } from '../values.ts'
import { inputOf } from './enqueue.ts'

export function addStreamsCommands(program: Command): void {
  const group = program
    .command('streams')
    .description('look at streams, publish in them, trim them')
  group
    .command('list')
    .description('list the streams in which something was published')
    .action((_options: object, command: Command) => runReading(command, list))
  group
    .command('read')
    .description('print events that have their offset')
    .argument('<stream>')
    .option('--after <offset>', 'events behind it (default: from the first there is)')
    .option('--limit <number>', 'at most so many (default: 100)')
    .option('--key <text>', 'only events with this key')
    .action((stream: string, given: ReadGiven, command: Command) =>
      runReading(command, (mill, { output }) => read(mill, output, { stream, ...given })),
    )
  group
    .command('follow')
    .description('print events as they get their offset, until it is stopped')
    .argument('<stream>')
    .option('--after <offset>', 'events behind it (default: from now on)')
    .option('--limit <number>', 'end after so many')
    .action((stream: string, given: FollowGiven, command: Command) =>
      runReading(command, (mill, { output }) => follow(mill, output, { stream, ...given })),
    )
  group
    .command('publish')
    .description('publish an event')
    .argument('<stream>')
    .argument('[json]', 'its data; - reads it from standard input')
    .option('--key <text>', 'what it is about')
    .option('--id <ulid>', 'an id of your own: the same id again is the same event')
    .action(async (...[stream, json, given, command]: PublishWords) => {
      const data = await inputOf(json)
      await runWithMill(command, async (mill, { output }) => {
        const published = await mill.publish(anyStream(stream), data, given)
        output.document(published, () => published.id)
        return DONE
      })
    })
  group
    .command('offsets')
    .description('list the consumers of a stream: how far each has come, and who reads for it')
    .argument('<stream>')
    .action((stream: string, _options: object, command: Command) =>
      runReading(command, (mill, { output }) => offsets(mill, output, stream)),
    )
  group
    .command('trim')
    .description('remove the front of a stream; what is left keeps its offsets')
    .argument('<stream>')
    .requiredOption('--before <where>', 'an offset, an age (30d) or an instant')
    .action((stream: string, { before }: { before: string }, command: Command) =>
      runWithMill(command, async (mill, { output }) => {
        const trimmed = await mill.streams.trim(anyStream(stream), { before: beforeOption(before) })
        output.document(trimmed, () => `${trimmed.removed} removed`)
        return DONE
      }),
    )
}

type PublishWords = readonly [
  stream: string,
  json: string | undefined,
  given: { readonly key?: string; readonly id?: string },
  command: Command,
]

interface FollowGiven {
  readonly after?: string
  readonly limit?: string
}

interface ReadGiven extends FollowGiven {
  readonly key?: string
}

interface AnyTypes {
  name: string
  input: unknown
  data: unknown
}

const POLL = 500

function anyStream(name: string): StreamDefinition<AnyTypes> {
  return defineStream(name, { data: typed<unknown>() })
}

async function list(mill: Mill, { output }: { readonly output: Output }): Promise<ExitCode> {
  const streams = await mill.streams.list()
  if (output.isJson) for (const each of streams) output.record(each)
  else if (streams.length === 0) output.text('no streams')
  else {
    const rows = streams.map(({ stream, head, events, waiting }) => [stream, head, events, waiting])
    output.text(table(['stream', 'head', 'events', 'waiting'], rows))
  }
  return DONE
}

// Reads never write: what has no offset yet is not shown.
async function read(
  mill: Mill,
  output: Output,
  { stream, after, limit, key }: ReadGiven & { readonly stream: string },
): Promise<ExitCode> {
  const events = await mill.streams.read(anyStream(stream), {
    after: after === undefined ? undefined : countOption('--after', after, 0),
    limit: limit === undefined ? undefined : countOption('--limit', limit, 0),
    key,
    sequence: false,
  })
  if (output.isJson) for (const each of events) output.record(each)
  else output.text(events.length === 0 ? 'no events' : eventTable(events))
  return DONE
}

async function follow(
  mill: Mill,
  output: Output,
  { stream, after: given, limit }: FollowGiven & { readonly stream: string },
): Promise<ExitCode> {
  const signal = shutdownSignal()
  let after = given === undefined ? await headOf(mill, stream) : countOption('--after', given, 0)
  let left = limit === undefined ? Number.POSITIVE_INFINITY : countOption('--limit', limit, 1)
  while (!signal.aborted && left > 0) {
    const options = { after, limit: Math.min(left, 1_000), sequence: false }
    const events = await mill.streams.read(anyStream(stream), options)
    for (const each of events) {
      if (output.isJson) output.record(each)
      else output.text(eventLine(each))
    }
    left -= events.length
    after = events.at(-1)?.offset ?? after
    if (events.length === 0) await pause(POLL, undefined, { signal }).catch(() => undefined)
  }
  return DONE
}

async function headOf(mill: Mill, stream: string): Promise<number> {
  const found = (await mill.streams.list()).find((each) => each.stream === stream)
  return found?.head ?? 0
}

async function offsets(mill: Mill, output: Output, stream: string): Promise<ExitCode> {
  const consumers = await mill.streams.consumers(anyStream(stream))
  if (output.isJson) for (const each of consumers) output.record(each)
  else if (consumers.length === 0) output.text('no consumers')
  else {
    const rows = consumers.map(({ as, offset, lag, holder }) => [as, offset, lag, holder])
    output.text(table(['consumer', 'offset', 'lag', 'holder'], rows))
  }
  return DONE
}

function eventTable(events: readonly StreamEvent[]): string {
  const rows = events.map(({ offset, publishedAt, key, data }) => {
    return [offset, publishedAt, key, JSON.stringify(data)]
  })
  return table(['offset', 'published at', 'key', 'data'], rows)
}

function eventLine({ offset, publishedAt, key, data }: StreamEvent): string {
  const words = [String(offset), publishedAt.toISOString(), key ?? '-', JSON.stringify(data)]
  return printable(words.join('  '))
}
