import { setTimeout as pause } from 'node:timers/promises'
import { defineStream, typed } from 'millrace'
import type { Mill, StreamDefinition } from 'millrace'
import { Client } from 'pg'
import { seededRandom } from './random.ts'
import type { Random } from './random.ts'

/**
 * Publishers as applications are: one in ten transactions is held open for up to 300 ms, one in
 * twenty rolls back, some publish in two streams, some take a part back to a savepoint. What was
 * committed says a table of their own, written in the same transaction; and beside each event stands a
 * row with a serial number, for the reader that goes by it.
 */
export interface Publishers {
  stop(): Promise<void>
}

interface EventTypes {
  name: string
  input: { n: number }
  data: { n: number }
}

const STREAMS = ['orders', 'audits'].map((name): StreamDefinition<EventTypes> =>
  defineStream(name, { data: typed<{ n: number }>() }),
)

export const TABLES = `
  create table committed (stream text not null, id text not null);
  create table serial_events (n bigint generated always as identity primary key, stream text not null, id text not null);
  create table seen (
    n bigint generated always as identity, consumer text not null, stream text not null,
    event_offset bigint not null, id text not null
  )`

export async function publishers(
  url: string,
  mill: Mill,
  { count, seed }: { readonly count: number; readonly seed: number },
): Promise<Publishers> {
  const ending = new AbortController()
  const sessions = await Promise.all(
    Array.from({ length: count }, async () => {
      const session = new Client({ connectionString: url })
      await session.connect()
      return session
    }),
  )
  const loops = sessions.map(async (session, index) => {
    const random = seededRandom(seed * 100 + index)
    while (!ending.signal.aborted) await transaction(session, mill, random)
    await session.end()
  })
  return {
    async stop() {
      ending.abort()
      await Promise.all(loops)
    },
  }
}

async function transaction(session: Client, mill: Mill, random: Random): Promise<void> {
  const [orders, audits] = STREAMS
  if (orders === undefined || audits === undefined) throw new Error('there are two streams')
  const publish = async (stream: typeof orders): Promise<void> => {
    const { id } = await mill.in(session).publish(stream, { n: Math.floor(random() * 1_000) })
    await session.query('insert into committed values ($1, $2)', [stream.name, id])
    await session.query('insert into serial_events (stream, id) values ($1, $2)', [stream.name, id])
  }
  await session.query('begin')
  await publish(orders)
  if (random() < 0.3) await publish(audits)
  if (random() < 0.2) {
    await session.query('savepoint part')
    await publish(orders)
    if (random() < 0.5) await session.query('rollback to part')
  }
  if (random() < 0.1) await pause(random() * 300)
  await session.query(random() < 0.05 ? 'rollback' : 'commit')
}
