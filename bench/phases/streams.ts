import { setTimeout as pause } from 'node:timers/promises'
import { defineJob, defineStream, open, typed } from 'millrace'
import type { JobKind, Mill, StreamDefinition } from 'millrace'
import { Client } from 'pg'
import type { TestServer } from '../../test/support/postgres-server.ts'
import { atFreshPlace } from '../place.ts'

/** Events a second beside the bare statements in the same round, and delivery beside that of a job. */
export interface StreamsResult {
  readonly events: number
  readonly publish: number
  readonly plainInsert: number
  readonly sequence: number
  readonly read: number
  readonly subscribe: number
  readonly plainSelect: number
  readonly eventP50: number
  readonly eventP99: number
  readonly jobP50: number
  readonly jobP99: number
}

interface Body {
  readonly number: number
  readonly text: string
}

interface BodyTypes {
  name: 'bench'
  input: Body
  data: Body
}

interface NumberTypes {
  name: 'bench'
  input: { number: number }
  parsed: { number: number }
  carry: undefined
  result: unknown
}

const stream: StreamDefinition<BodyTypes> = defineStream('bench', { data: typed<Body>() })
const job: JobKind<NumberTypes> = defineJob('bench', { input: typed<{ number: number }>() })
const TEXT = 'x'.repeat(150)
const BATCH = 1_000
const EVERY_MS = 20
const SINGLES = 300
// Until the listener is proven and the statements are prepared.
const WARM_UP = 25

export function measureStreams(server: TestServer, events: number): Promise<StreamsResult> {
  return atFreshPlace(server, async ({ url }) => {
    const mill = await open(url, { migrate: 'auto' })
    // Its plans are pinned as ours are: a table that grows is sorted whole otherwise.
    const options = '-c enable_seqscan=off -c enable_bitmapscan=off'
    const plain = new Client({ connectionString: url, options })
    await plain.connect()
    try {
      await plain.query(
        'create table plain (n bigint generated always as identity, id text, data json, primary key (n))',
      )
      // The parts take turns, so that what slows the machine slows all of them.
      const rates = await ratesOf(mill, plain, events)
      return { events, ...rates, ...(await delivery(mill)) }
    } finally {
      await plain.end()
      await mill.close()
    }
  })
}

async function ratesOf(
  mill: Mill,
  plain: Client,
  events: number,
): Promise<Omit<StreamsResult, 'events' | 'eventP50' | 'eventP99' | 'jobP50' | 'jobP99'>> {
  const turns = Math.ceil(events / 10_000)
  const took = { publish: 0, plainInsert: 0, sequence: 0, read: 0, subscribe: 0, plainSelect: 0 }
  let [read, selected] = [0, 0]
  for (let turn = 0; turn < turns; turn += 1) {
    const bodies = bodiesFrom(turn * 10_000)
    took.publish += await timed(async () => {
      for (const batch of bodies)
        await mill.publishMany(
          stream,
          batch.map((data) => ({ data })),
        )
    })
    took.plainInsert += await timed(async () => {
      for (const batch of bodies) await insert(plain, batch)
    })
    const [last] = await mill.publishMany(stream, [{ data: { number: -1, text: TEXT } }])
    took.sequence += await timed(() => mill.streams.offset(stream, last?.id ?? ''))
    took.read += await timed(async () => {
      read = await readOn(mill, read)
    })
    took.plainSelect += await timed(async () => {
      selected = await selectOn(plain, selected)
    })
  }
  // One subscription from the start to the end, beside one more walk by selects.
  took.plainSelect += await timed(() => selectOn(plain, 0))
  took.subscribe = await timed(() => subscribeTo(mill, turns * 10_000))
  took.plainSelect /= 2
  const rate = (ms: number): number => (turns * 10_000 * 1_000) / ms
  return {
    publish: rate(took.publish),
    plainInsert: rate(took.plainInsert),
    sequence: rate(took.sequence),
    read: rate(took.read),
    subscribe: rate(took.subscribe),
    plainSelect: rate(took.plainSelect),
  }
}

function bodiesFrom(first: number): readonly (readonly Body[])[] {
  return Array.from({ length: 10 }, (_, batch) =>
    Array.from({ length: BATCH }, (__, index) => {
      return { number: first + batch * BATCH + index, text: TEXT }
    }),
  )
}

async function insert(plain: Client, batch: readonly Body[]): Promise<void> {
  const rows = batch.map((data, index) => ({ id: `id ${index}`, data: JSON.stringify(data) }))
  await plain.query({
    name: 'plain_insert',
    text: `insert into plain (id, data) select id, data::json from json_to_recordset($1::text::json) as x(id text, data text)`,
    values: [JSON.stringify(rows)],
  })
}

async function readOn(mill: Mill, from: number): Promise<number> {
  let after = from
  for (;;) {
    const events = await mill.streams.read(stream, { after, limit: BATCH })
    if (events.length === 0) return after
    after = events.at(-1)?.offset ?? after
  }
}

async function selectOn(plain: Client, from: number): Promise<number> {
  let after = from
  for (;;) {
    const { rows } = await plain.query<{ n: number; data: string }>({
      name: 'plain_select',
      text: 'select n::float8 as n, id, data::text as data from plain where n > $1 order by n limit 1000',
      values: [after],
    })
    for (const { data } of rows) JSON.parse(data)
    if (rows.length === 0) return after
    after = rows.at(-1)?.n ?? after
  }
}

async function subscribeTo(mill: Mill, last: number): Promise<void> {
  for await (const { offset } of mill.subscribe(stream, { as: 'bench' })) {
    if (offset === last) break
  }
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const began = performance.now()
  await work()
  return performance.now() - began
}

/** From the call of publish, or enqueue, to the handler, one event and one job in turn. */
async function delivery(
  mill: Mill,
): Promise<Pick<StreamsResult, 'eventP50' | 'eventP99' | 'jobP50' | 'jobP99'>> {
  const asked = new Map<string, number>()
  const waits = { event: new Array<number>(), job: new Array<number>() }
  const count = SINGLES + WARM_UP
  const since = (what: string): number => performance.now() - (asked.get(what) ?? Number.NaN)
  const worker = mill.worker().handle(job, ({ number }) => {
    waits.job.push(since(`job ${number}`))
  })
  await worker.start()
  const events = mill.subscribe(stream, { as: 'delivery', from: 'end' })
  const taking = (async () => {
    for await (const { data } of events) waits.event.push(since(`event ${data.number}`))
  })()
  await pause(1_000)
  for (let number = 0; number < count; number += 1) {
    asked.set(`event ${number}`, performance.now())
    await Promise.all([mill.publish(stream, { number, text: TEXT }), pause(EVERY_MS)])
    asked.set(`job ${number}`, performance.now())
    await Promise.all([mill.enqueue(job, { number }), pause(EVERY_MS)])
  }
  while (waits.event.length < count || waits.job.length < count) await pause(EVERY_MS)
  await events.close()
  await taking
  await worker.stop()
  const event = sorted(waits.event)
  const jobs = sorted(waits.job)
  return {
    eventP50: at(event, 0.5),
    eventP99: at(event, 0.99),
    jobP50: at(jobs, 0.5),
    jobP99: at(jobs, 0.99),
  }
}

function sorted(waits: readonly number[]): readonly number[] {
  return waits.slice(WARM_UP).toSorted((a, b) => a - b)
}

function at(waits: readonly number[], share: number): number {
  return waits[Math.floor(share * (waits.length - 1))] ?? 0
}

/** The block of one run: medians of the rounds, with the ratios that the goals are about. */
export function streamsText(rounds: readonly StreamsResult[]): string {
  const median = (of: (round: StreamsResult) => number): number =>
    rounds.map(of).toSorted((a, b) => a - b)[Math.floor(rounds.length / 2)] ?? 0
  const rate = (of: (round: StreamsResult) => number): string => `${Math.round(median(of))}/s`
  const ratio = (of: (round: StreamsResult) => number): string => median(of).toFixed(2)
  const ms = (of: (round: StreamsResult) => number): string => median(of).toFixed(1)
  return [
    `rounds      ${rounds.length}, ${rounds[0]?.events ?? 0} events each, batches of ${BATCH}`,
    `publish     ${rate((r) => r.publish)}, plain insert ${rate((r) => r.plainInsert)}, ratio ${ratio((r) => r.publish / r.plainInsert)} (goal 0.5)`,
    `sequence    ${rate((r) => r.sequence)}`,
    `read        ${rate((r) => r.read)}, plain select ${rate((r) => r.plainSelect)}, ratio ${ratio((r) => r.read / r.plainSelect)} (goal 0.7)`,
    `subscribe   ${rate((r) => r.subscribe)}, ratio ${ratio((r) => r.subscribe / r.plainSelect)} (goal 0.7)`,
    `delivery    event p50 ${ms((r) => r.eventP50)} ms, p99 ${ms((r) => r.eventP99)}; job p50 ${ms((r) => r.jobP50)} ms, p99 ${ms((r) => r.jobP99)}; ratio of p50 ${ratio((r) => r.eventP50 / r.jobP50)} (goal at most 2)`,
  ].join('\n')
}
