import { Client } from 'pg'
import type { TestServer } from '../../../test/support/postgres-server.ts'
import { startChild } from '../child-process.ts'
import type { Contender } from '../contenders.ts'
import { atPlace, rateOf, watch } from '../measure.ts'
import type { StorePlace } from '../places.ts'
import type { Figures } from '../samples.ts'

/**
 * A producer and a worker, a process each, at a fixed rate for minutes. `early` and `late` are the
 * median waits of the first and the last fifth: what grows with time shows there.
 */
export function measureSteady(
  server: TestServer,
  contender: Contender,
  load: { readonly rate: number; readonly forMs: number; readonly isHeld: boolean },
): Promise<Figures> {
  return atPlace(contender, server, async (place) => {
    // The tables are there before the snapshot is taken and anything is measured.
    await startChild({ contender, url: place.url, task: 'bulk', options: { count: 2 } }).result
    const held = load.isHeld ? await holdSnapshot(place.url) : undefined
    try {
      return await underLoad(place, contender, load)
    } finally {
      await held?.end()
    }
  })
}

async function underLoad(
  place: StorePlace,
  contender: Contender,
  { rate, forMs }: { readonly rate: number; readonly forMs: number },
): Promise<Figures> {
  const about = { contender, url: place.url, options: { rate, forMs } }
  const watched = watch(place)
  const consumer = startChild({ ...about, task: 'consume' }, watched.atMark)
  const producer = startChild({ ...about, task: 'produce' })
  await Promise.race([consumer.begun, consumer.result])
  producer.tell({ told: 'start' })
  const produced = await Promise.race([producer.result, consumer.result])
  consumer.tell({ told: 'produced', produced: (produced['jobs'] ?? 0) + EARLIER_JOBS })
  const consumed = await consumer.result
  return {
    rate: rateOf(produced['jobs'] ?? 0, produced['elapsedMs']),
    p50: consumed['p50'] ?? null,
    p99: consumed['p99'] ?? null,
    early: consumed['early'] ?? null,
    late: consumed['late'] ?? null,
    backlog: consumed['backlog'] ?? null,
    missing: consumed['missing'] ?? null,
    ...watched.cost(consumed),
    dead: await place.deadRows(),
  }
}

// Those that made the tables.
const EARLIER_JOBS = 2

/** A transaction with an id and a snapshot: nothing that dies from now on can be cleaned up. */
async function holdSnapshot(url: string): Promise<Client> {
  const holder = new Client({ connectionString: url })
  holder.on('error', () => {})
  await holder.connect()
  await holder.query('begin isolation level repeatable read')
  await holder.query('select pg_current_xact_id()')
  return holder
}
