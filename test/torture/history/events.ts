import { grouped } from './history.ts'
import type { FactOf, History } from './history.ts'

/**
 * Every committed event has one offset, offsets are 1 … n without a gap, and whoever follows a stream
 * saw each event at its offset and none before those that stand before it. Who handles at least once
 * may see an event again; who handles in the transaction of its offset may not.
 */
export function eventFaults(history: History): readonly string[] {
  const sequenced = grouped(history.of('sequenced'), ({ stream }) => stream)
  const published = grouped(history.of('published'), ({ stream }) => stream)
  const saws = grouped(history.of('saw'), readerKey)
  const following = new Map(history.of('follows').map((each) => [readerKey(each), each]))
  const streams = new Set([...sequenced.keys(), ...published.keys()])
  const readers = new Set([...saws.keys(), ...following.keys()])
  return [
    ...[...streams].flatMap((stream) => [
      ...offsetFaults(stream, sequenced.get(stream) ?? []),
      ...commitFaults(stream, sequenced.get(stream) ?? [], published.get(stream) ?? []),
    ]),
    ...[...readers].flatMap((reader) => {
      const follows = following.get(reader)
      const saw = saws.get(reader) ?? []
      const stream = follows?.stream ?? saw[0]?.stream ?? ''
      const events = sequenced.get(stream) ?? []
      return [
        ...sightFaults(saw, events, follows?.isOnce === true),
        ...missedBy(follows, saw, events),
      ]
    }),
  ]
}

type Sequenced = FactOf<'sequenced'>
type Saw = FactOf<'saw'>

function offsetFaults(stream: string, events: readonly Sequenced[]): readonly string[] {
  const offsets = events.map(({ offset }) => offset).toSorted((one, other) => one - other)
  const wrong = offsets.findIndex((offset, position) => offset !== position + 1)
  if (wrong === -1) return []
  return [`stream ${stream} has offset ${offsets[wrong]} where ${wrong + 1} should be`]
}

function commitFaults(
  stream: string,
  events: readonly Sequenced[],
  published: readonly FactOf<'published'>[],
): readonly string[] {
  const times = new Map<string, number>()
  for (const { event } of events) times.set(event, (times.get(event) ?? 0) + 1)
  const committed = new Set(published.map(({ event }) => event))
  const lost = [...committed].filter((event) => !times.has(event))
  return [
    ...lost.map((event) => `event ${event} of ${stream} was committed and has no offset`),
    ...[...times].flatMap(([event, count]) => {
      if (count > 1) return [`event ${event} of ${stream} has ${count} offsets`]
      const isStray = published.length > 0 && !committed.has(event)
      return isStray ? [`event ${event} of ${stream} has an offset and was never committed`] : []
    }),
  ]
}

function sightFaults(
  saw: readonly Saw[],
  events: readonly Sequenced[],
  isOnce: boolean,
): readonly string[] {
  const byOffset = new Map(events.map(({ offset, event }) => [offset, event]))
  const faults: string[] = []
  let furthest = 0
  for (const each of saw) {
    const name = `${each.consumer} saw ${each.offset} of ${each.stream}`
    if (byOffset.get(each.offset) !== each.event)
      faults.push(`${name} as ${each.event}, which it is not`)
    if (each.offset > furthest + 1) faults.push(`${name} when it had seen none beyond ${furthest}`)
    if (isOnce && each.offset <= furthest) faults.push(`${name} again`)
    furthest = Math.max(furthest, each.offset)
  }
  return faults
}

function missedBy(
  follows: FactOf<'follows'> | undefined,
  saw: readonly Saw[],
  events: readonly Sequenced[],
): readonly string[] {
  if (follows === undefined) return []
  const seen = new Set(saw.map(({ offset }) => offset))
  const missed = events.filter(({ offset }) => !seen.has(offset))
  return missed.map(({ offset, stream }) => `${follows.consumer} missed ${offset} of ${stream}`)
}

function readerKey({
  consumer,
  stream,
}: {
  readonly consumer: string
  readonly stream: string
}): string {
  return JSON.stringify([consumer, stream])
}
