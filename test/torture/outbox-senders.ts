import { setTimeout as pause } from 'node:timers/promises'
import { defineOutbox, typed } from 'millrace'
import type { Mill } from 'millrace'
import { Client } from 'pg'
import { between, seededRandom } from './random.ts'
import type { Random } from './random.ts'

/**
 * Senders as applications are: some hold their transaction open, some roll back, some take a part
 * back to a savepoint, half of them lock a row of the key as one does who changes what the message
 * tells of. What was committed says a table of their own, written last in the same transaction, with
 * the snapshot of that moment: whatever it sees was committed before this commit began.
 */
export interface Senders {
  stop(): Promise<void>
}

interface Mail {
  readonly fails: number
  readonly dies: boolean
}

export const TABLES = `
  create table keys (key text primary key, n int not null);
  create table committed (
    n bigint generated always as identity, key text not null, id text not null,
    xid xid8 not null, snapshot pg_snapshot not null
  );
  create table deliveries (
    n bigint generated always as identity, key text not null, id text not null, what text not null, process int not null
  )`

export const LEASE_MS = 1_500
export const BACKOFF = { type: 'fixed', base: '20ms' } as const

const mails = defineOutbox('mails', {
  message: typed<Mail>(),
  lease: LEASE_MS,
  retry: { failures: 1_000, backoff: BACKOFF },
})

export async function senders(
  url: string,
  mill: Mill,
  options: { readonly count: number; readonly keys: number; readonly seed: number },
): Promise<Senders> {
  const ending = new AbortController()
  const { count, keys, seed } = options
  const sessions = await Promise.all(
    Array.from({ length: count }, async () => {
      const session = new Client({ connectionString: url })
      await session.connect()
      return session
    }),
  )
  await sessions[0]?.query(`insert into keys select 'key ' || k, 0 from generate_series(1, $1) k`, [
    keys,
  ])
  const loops = sessions.map(async (session, index) => {
    const random = seededRandom(seed * 100 + index)
    while (!ending.signal.aborted) await transaction({ session, mill, random, keys })
    await session.end()
  })
  return {
    async stop() {
      ending.abort()
      await Promise.all(loops)
    },
  }
}

interface Sending {
  readonly session: Client
  readonly mill: Mill
  readonly random: Random
  readonly keys: number
}

async function transaction({ session, mill, random, keys }: Sending): Promise<void> {
  const key = `key ${between(random, 1, keys)}`
  const ids: string[] = []
  async function send(): Promise<void> {
    const fails = random() < 0.1 ? between(random, 1, 3) : 0
    const mail = { fails, dies: random() < 0.02 }
    const { id } = await mill.in(session).send(mails, mail, { key })
    ids.push(id)
  }
  await session.query('begin')
  if (random() < 0.5) await session.query('update keys set n = n + 1 where key = $1', [key])
  await send()
  if (random() < 0.2) {
    await session.query('savepoint part')
    await send()
    if (random() < 0.5) {
      await session.query('rollback to part')
      ids.pop()
    }
  }
  if (random() < 0.2) await pause(random() * 200)
  for (const id of ids) {
    await session.query(
      `insert into committed (key, id, xid, snapshot) values ($1, $2, pg_current_xact_id(), pg_current_snapshot())`,
      [key, id],
    )
  }
  await session.query(random() < 0.05 ? 'rollback' : 'commit')
  await pause(random() * 20)
}
