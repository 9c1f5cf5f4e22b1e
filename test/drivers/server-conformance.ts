import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Engine } from '../../src/database/database.ts'
import { databaseUrl, freshDatabase, type FreshDatabase } from '../support/database.ts'
import { proxyTo } from '../support/proxy.ts'
import { runSql } from '../support/sql.ts'
import { until } from '../support/until.ts'
import { failure, OPTIONS, query } from './bench.ts'
import { serverFailures } from './server-failures.ts'

/** What a driver of a real server has to do besides: roles have settings of their own, poolers refuse ours. */
export function serverConformance(engineOn: (url: string) => Engine): void {
  let database: FreshDatabase

  beforeAll(async () => {
    database = await freshDatabase()
  })
  afterAll(() => database.drop())

  serverFailures(engineOn)

  describe('a connection of our own', () => {
    test('tells its purpose to people who look', async () => {
      await using engine = engineOn(database.url)
      const session = await engine.connect({ ...OPTIONS, purpose: 'claim' })
      const [row] = await session.query(query("select current_setting('application_name') as name"))
      expect(row).toEqual({ name: 'millrace claim' })
    })

    test('22: a hostile role does not matter: isolation, search_path, DateStyle, plans, timeouts', async () => {
      const role = `hostile_${database.name}`
      await runSql(
        database.url,
        `create role ${role} login superuser;
         alter role ${role} set default_transaction_isolation = 'serializable';
         alter role ${role} set search_path = 'nowhere';
         alter role ${role} set datestyle = 'SQL, DMY';
         alter role ${role} set extra_float_digits = '-15';
         alter role ${role} set enable_seqscan = 'on';
         alter role ${role} set statement_timeout = '10ms'`,
      )
      const url = new URL(database.url)
      url.username = role
      await using engine = engineOn(url.href)
      await using session = await engine.connect(OPTIONS)
      const [row] = await session.query(
        query(`select current_setting('transaction_isolation') as isolation, (date '2024-02-01')::text as day,
                 current_setting('enable_seqscan') as seqscan, 1700000000123.456::float8 as number,
                 pg_sleep(0.05)::text as slept, 'millrace'::text as text`),
      )
      expect(row).toMatchObject({
        isolation: 'read committed',
        day: '2024-02-01',
        seqscan: 'off',
        number: 1_700_000_000_123.456,
      })
      await session.close()
      await runSql(database.url, `drop role ${role}`)
    })

    test("the caller's own options are kept", async () => {
      const url = new URL(database.url)
      url.searchParams.set('options', '-c work_mem=7MB -c enable_seqscan=on')
      await using engine = engineOn(url.href)
      const session = await engine.connect(OPTIONS)
      const [row] = await session.query(
        query(
          "select current_setting('work_mem') as memory, current_setting('enable_seqscan') as seqscan",
        ),
      )
      expect(row).toEqual({ memory: '7MB', seqscan: 'off' })
    })

    test('is one connection, and nothing is left of it after close', async () => {
      const mine = `select count(*)::int4 as n from pg_stat_activity
        where datname = current_database() and application_name like 'millrace leak%'`
      const before = openHandles()
      const engine = engineOn(database.url)
      const session = await engine.connect({ ...OPTIONS, purpose: 'leak' })
      await session.query(query('select 1'))
      expect(await runSql(database.url, mine)).toEqual([{ n: 1 }])
      await session.close()
      const forgotten = await engine.connect({ ...OPTIONS, purpose: 'leak 2' })
      await engine.close()
      await engine.close()
      expect(forgotten.isLost).toBe(true)
      await expect.poll(() => runSql(database.url, mine)).toEqual([{ n: 0 }])
      await expect.poll(openHandles).toBe(before)
    })

    test('a closed engine connects no more', async () => {
      const engine = engineOn(database.url)
      await engine.close()
      expect(await failure(engine.connect(OPTIONS))).toMatchObject({ retryable: false })
    })
  })

  describe('poolers and standbys', () => {
    test('29: a pooler that refuses our settings gets a connection without them', async () => {
      await using proxy = await proxyTo(database.url, { refuse: refuseSettings })
      await using engine = engineOn(proxy.url)
      const session = await engine.connect(OPTIONS)
      const seqscan = query("select current_setting('enable_seqscan') as seqscan")
      expect(await session.query(seqscan)).toEqual([{ seqscan: 'on' }])
      const tried = proxy.connections
      await engine.connect(OPTIONS)
      expect(proxy.connections).toBe(tried + 1)
    })

    test('29: a pooler without a connection to give is no reason to do without our settings', async () => {
      let refusals = 1
      const refuse = () => (refusals-- > 0 ? refusal('no more connections allowed') : undefined)
      await using proxy = await proxyTo(database.url, { refuse })
      await using engine = engineOn(proxy.url)
      const seqscan = query("select current_setting('enable_seqscan') as seqscan")
      await (await engine.connect(OPTIONS)).query(seqscan)
      const session = await engine.connect(OPTIONS)
      expect(await session.query(seqscan)).toEqual([{ seqscan: 'off' }])
    })

    test('of several hosts the one that takes writes is found, and remembered', async () => {
      const standby = await proxyTo(databaseUrl(database.url, database.name))
      await using primary = await proxyTo(database.url)
      const readOnly = `read_only_${database.name}`
      await runSql(database.url, `create database ${readOnly}`)
      await runSql(
        database.url,
        `alter database ${readOnly} set default_transaction_read_only = on`,
      )
      const several = new URL(database.url)
      const url = `postgres://postgres@127.0.0.1:1,127.0.0.1:${primary.port}${several.pathname}`
      await using engine = engineOn(url)
      const session = await engine.connect(OPTIONS)
      expect(await session.query(query('select 1 as one'))).toEqual([{ one: 1 }])
      await engine.connect(OPTIONS)
      expect(primary.connections).toBe(2)

      const closed = `postgres://postgres@127.0.0.1:1,127.0.0.1:${standby.port}/${readOnly}`
      await using wrong = engineOn(closed)
      expect(await failure(wrong.connect(OPTIONS))).toMatchObject({
        sqlstate: '25006',
        retryable: true,
      })
      await standby.close()
      await runSql(database.url, `drop database ${readOnly}`)
    })

    test('a host that was left is left by all: nothing waits for its answers', async () => {
      await using first = await proxyTo(database.url)
      await using second = await proxyTo(database.url)
      const { pathname } = new URL(database.url)
      const hosts = `127.0.0.1:${first.port},127.0.0.1:${second.port}`
      await using engine = engineOn(`postgres://postgres@${hosts}${pathname}`)
      const session = await engine.connect({ ...OPTIONS, timeoutMs: 600_000 })
      const waiting = failure(session.query(query('select pg_sleep(60)')))
      first.freeze()
      first.refuseMore()
      const next = await engine.connect(OPTIONS)
      expect(await waiting).toMatchObject({ retryable: true, outcomeUnknown: true })
      expect(session.isLost).toBe(true)
      expect(await next.query(query('select 1 as one'))).toEqual([{ one: 1 }])
    })

    test('a URL that asks for a standby is refused', () => {
      const url = 'postgres://a:1,b:2/db?target_session_attrs=standby'
      expect(() => engineOn(url)).toThrow(/target_session_attrs.*Millrace writes/)
    })
  })

  describe('a listening connection', () => {
    test('tells once when it is lost, and not when it is closed', async () => {
      const losses: unknown[] = []
      const handlers = {
        onNotification: () => {},
        onLost: (error: unknown) => losses.push(error),
      }
      await using engine = engineOn(database.url)
      const listening = await engine.listen('millrace_lost', handlers)
      await runSql(
        database.url,
        `select pg_terminate_backend(pid) from pg_stat_activity
         where application_name = 'millrace listen' and datname = current_database()`,
      )
      await until(() => losses.length > 0)
      await failure(listening.ping(1_000))
      await listening.close()
      expect(losses).toHaveLength(1)

      const other = await engine.listen('millrace_lost', handlers)
      await other.close()
      expect(losses).toHaveLength(1)
    })

    test('11: a ping finds a socket that is half open', async () => {
      await using proxy = await proxyTo(database.url)
      await using engine = engineOn(proxy.url)
      let losses = 0
      const listening = await engine.listen('millrace_half_open', {
        onNotification: () => {},
        onLost: () => {
          losses += 1
        },
      })
      await listening.ping(5_000)
      proxy.freeze()
      expect(await failure(listening.ping(200))).toMatchObject({ retryable: true })
      await expect.poll(() => losses).toBe(1)
      await listening.close()
    })
  })
}

function openHandles(): number {
  return process.getActiveResourcesInfo().filter((name) => /TCP|Timeout/.test(name)).length
}

// What PgBouncer says to a startup packet that holds more than it knows.
function refuseSettings(startup: Buffer): Buffer | undefined {
  if (!startup.includes('enable_seqscan')) return undefined
  return refusal('unsupported startup parameter: options')
}

function refusal(message: string): Buffer {
  const fields = ['SFATAL', 'VFATAL', 'C08P01', `M${message}`, '']
  const body = Buffer.from(`${fields.join('\0')}\0`)
  const head = Buffer.alloc(5)
  head.write('E')
  head.writeInt32BE(body.length + 4, 1)
  return Buffer.concat([head, body])
}
