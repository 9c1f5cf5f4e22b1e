import { setTimeout as pause } from 'node:timers/promises'
import { Client } from 'pg'
import type { TestServer } from '../../support/postgres-server.ts'
import { runSql } from '../../support/sql.ts'
import { between, pick } from '../random.ts'
import { struck } from './crew.ts'
import type { Fault } from './process-faults.ts'

/** What happens to the server and to the database, for everybody. */
export function serverFaults(server: TestServer, name: string): ReadonlyMap<string, Fault> {
  const url = server.url(name)
  // Another database: what is set for that one must not keep anybody from setting it back.
  const aside = server.url()

  const restart =
    (mode: 'fast' | 'immediate'): Fault =>
    async (random) => {
      const ms = between(random, 0, 3_000)
      return struck(`restart ${mode}`, null, async () => {
        await server.stop(mode)
        await pause(ms)
        await server.start()
      })
    }

  /** While it lasts the database has the setting; sessions begin with it. */
  async function withSetting(
    setting: string,
    value: string,
    work: () => Promise<void>,
  ): Promise<void> {
    await runSql(aside, `alter database ${name} set ${setting} = '${value}'`)
    try {
      await work()
    } finally {
      await runSql(aside, `alter database ${name} reset ${setting}`)
    }
  }

  async function endSessions(share: number): Promise<void> {
    await runSql(aside, END_SESSIONS, [name, share])
  }

  return new Map<string, Fault>([
    ['restart fast', restart('fast')],
    ['restart immediate', restart('immediate')],
    [
      'backends',
      async (random) => {
        const share = random()
        return struck('backends', null, () => endSessions(share))
      },
    ],
    [
      'read-only',
      async (random) => {
        const ms = between(random, 500, 4_000)
        return struck('read-only', null, () =>
          withSetting('default_transaction_read_only', 'on', async () => {
            await endSessions(1)
            await pause(ms)
          }),
        )
      },
    ],
    [
      'no connections',
      async (random) => {
        const [share, ms] = [0.3 + random() * 0.7, between(random, 500, 4_000)]
        return struck('no connections', null, () => hogged(aside, ms, [name, share]))
      },
    ],
    [
      'short timeout',
      async (random) => {
        const ms = between(random, 500, 3_000)
        return struck('short timeout', null, () =>
          withSetting('statement_timeout', '10ms', () => cancelSlow(aside, name, ms)),
        )
      },
    ],
    [
      'locked table',
      async (random) => {
        const [table, ms] = [pick(random, TABLES), between(random, 500, 3_000)]
        return struck('locked table', null, () => lockTable(url, table, ms))
      },
    ],
  ])
}

const TABLES = [
  'jobs',
  'ready',
  'leases',
  'finished',
  'journal',
  'event_inbox',
  'events',
  'consumers',
  'schedules',
  'locks',
  'outbox_line',
  'outbox_heads',
].map((table) => [table, 1] as const)

/** Takes every connection that is free, also those that others lose meanwhile, and keeps them. */
async function hogged(url: string, ms: number, ending: readonly [string, number]): Promise<void> {
  const hogs: Client[] = []
  const first = await connected(url)
  let isOver = false
  async function hog(): Promise<void> {
    while (!isOver) {
      await connected(url).then(
        (client) => hogs.push(client),
        () => pause(5),
      )
    }
  }
  const hogging = hog()
  try {
    await pause(HOG_FIRST)
    await first.query(END_SESSIONS, [...ending])
    await pause(ms)
  } finally {
    isOver = true
    await hogging
    await Promise.all([first, ...hogs].map((client) => client.end()))
  }
}

const HOG_FIRST = 300

const END_SESSIONS =
  'select pg_terminate_backend(pid) from pg_stat_activity where datname = $1 and random() < $2'

async function connected(url: string): Promise<Client> {
  const client = new Client({ connectionString: url })
  client.on('error', () => undefined)
  await client.connect()
  return client
}

/** As a statement_timeout does that is shorter than statements take: ours set one of their own. */
async function cancelSlow(url: string, name: string, ms: number): Promise<void> {
  const session = await connected(url)
  const end = performance.now() + ms
  try {
    while (performance.now() < end) {
      await session.query(
        `select pg_cancel_backend(pid) from pg_stat_activity
         where datname = $1 and state = 'active' and query_start < clock_timestamp() - interval '3 milliseconds'`,
        [name],
      )
      await pause(5)
    }
  } finally {
    await session.end()
  }
}

/** Whoever wants the table waits; a deadlock may end this transaction as well as one of theirs. */
async function lockTable(url: string, table: string, ms: number): Promise<void> {
  const session = await connected(url)
  try {
    await session.query('begin')
    await session.query(`lock table millrace.${table} in access exclusive mode`)
    await pause(ms)
    await session.query('rollback')
  } catch {
    // It was chosen to end the deadlock.
  } finally {
    await session.end()
  }
}
