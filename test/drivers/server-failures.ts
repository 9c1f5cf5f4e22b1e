import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Engine, Session } from '../../src/database/database.ts'
import { databaseUrl, freshDatabase, type FreshDatabase } from '../support/database.ts'
import { proxyTo } from '../support/proxy.ts'
import { runSql } from '../support/sql.ts'
import { until } from '../support/until.ts'
import { failure, OPTIONS, query } from './bench.ts'

const backendPid = query('select pg_backend_pid() as pid', [], 'pid')

async function pidOf(session: Session): Promise<unknown> {
  const [row] = await session.query(backendPid)
  return row?.['pid']
}

const lockRow = (id: number) =>
  query('select id from public.kept where id = $1::int4 for update', [id])

/** Connections fail: what is told about a statement then, and what is left. */
export function serverFailures(engineOn: (url: string) => Engine): void {
  let database: FreshDatabase

  beforeAll(async () => {
    database = await freshDatabase()
    await runSql(database.url, 'create table kept (id int4 primary key)')
  })
  afterAll(() => database.drop())

  const terminate = (pid: unknown) => runSql(database.url, 'select pg_terminate_backend($1)', [pid])

  describe('errors of connections', () => {
    test('a server that is not there is retryable, and nothing was sent', async () => {
      await using engine = engineOn('postgres://postgres@127.0.0.1:1/nothing')
      const error = await failure(engine.connect(OPTIONS))
      expect(error).toMatchObject({ sqlstate: null, retryable: true, outcomeUnknown: false })
      expect(error.message).toMatch(/^connecting to the database failed: .*ECONNREFUSED/)
    })

    test('a database that does not exist is 3D000 and not retryable', async () => {
      await using engine = engineOn(databaseUrl(database.url, 'not_there'))
      expect(await failure(engine.connect(OPTIONS))).toMatchObject({
        sqlstate: '3D000',
        retryable: false,
      })
    })

    test('an idle session that is terminated is lost, and the process lives', async () => {
      await using engine = engineOn(database.url)
      const session = await engine.connect(OPTIONS)
      await terminate(await pidOf(session))
      await expect.poll(() => session.isLost).toBe(true)
      expect(await failure(session.query(backendPid))).toMatchObject({
        retryable: true,
        outcomeUnknown: false,
      })
      await session.close()
    })

    test('a session that is terminated in a query rejects it as unknown, and what waited as never sent', async () => {
      await using engine = engineOn(database.url)
      const session = await engine.connect(OPTIONS)
      const pid = await pidOf(session)
      const running = failure(session.query(query('select pg_sleep(30)')))
      const waiting = failure(session.query(query('insert into public.kept values (1)')))
      await terminate(pid)
      // postgres.js waits for more after the answer and so never tells the 57P01.
      expect(await running).toMatchObject({ retryable: true, outcomeUnknown: true })
      expect(await waiting).toMatchObject({ retryable: true, outcomeUnknown: false })
      expect(session.isLost).toBe(true)
      expect(await runSql(database.url, 'select from public.kept where id = 1')).toEqual([])
    })

    test('a connection that is reset in a query rejects it as unknown', async () => {
      await using proxy = await proxyTo(database.url)
      await using engine = engineOn(proxy.url)
      const session = await engine.connect(OPTIONS)
      const running = failure(session.query(query('select pg_sleep(30)', [], 'sleep')))
      proxy.reset()
      const error = await running
      expect(error).toMatchObject({
        sqlstate: null,
        retryable: true,
        outcomeUnknown: true,
        statement: 'sleep',
      })
      expect(error.message).toContain('Whether it took effect is unknown.')
      expect(session.isLost).toBe(true)
      expect(proxy.connections).toBe(1)
    })

    test('a transaction whose connection goes before the commit did not happen, and says so', async () => {
      await using engine = engineOn(database.url)
      const session = await engine.connect(OPTIONS)
      const pid = await pidOf(session)
      const attempt = session.transaction(async (transaction) => {
        await transaction.query(query('insert into public.kept values (2)'))
        await terminate(pid)
        await transaction.query(query('select 1'))
      })
      expect(await failure(attempt)).toMatchObject({ retryable: true, outcomeUnknown: false })
      expect(session.isLost).toBe(true)
      expect(await runSql(database.url, 'select from public.kept where id = 2')).toEqual([])
    })

    test('M8: a commit whose answer is lost is of unknown outcome', async () => {
      await using proxy = await proxyTo(database.url)
      await using engine = engineOn(proxy.url)
      const session = await engine.connect({ ...OPTIONS, timeoutMs: 500 })
      const attempt = session.transaction(async (transaction) => {
        await transaction.query(query('insert into public.kept values (3)'))
        proxy.freeze()
      })
      expect(await failure(attempt)).toMatchObject({
        statement: 'commit',
        retryable: true,
        outcomeUnknown: true,
      })
    })

    test('a query without an answer in time gives the session up, and the server stops it soon', async () => {
      await using engine = engineOn(database.url)
      const session = await engine.connect({ ...OPTIONS, timeoutMs: 200 })
      const pid = await pidOf(session)
      const error = await failure(session.query(query('select pg_sleep(60)', [], 'slow')))
      expect(error).toMatchObject({
        sqlstate: null,
        retryable: true,
        outcomeUnknown: true,
        statement: 'slow',
      })
      expect(error.message).toContain('no answer after 200 ms')
      expect(session.isLost).toBe(true)
      const alive = () => runSql(database.url, 'select from pg_stat_activity where pid = $1', [pid])
      await expect.poll(alive, { timeout: 5_000 }).toEqual([])
    })

    test('a session that is given up rejects what is under way as unknown, and what waited as never sent', async () => {
      await using proxy = await proxyTo(database.url)
      await using engine = engineOn(proxy.url)
      const session = await engine.connect(OPTIONS)
      proxy.freeze()
      const underWay = failure(session.query(backendPid))
      const waiting = failure(session.query(backendPid))
      await until(() => proxy.deadConnections > 0)
      session.giveUp()
      expect(await underWay).toMatchObject({ retryable: true, outcomeUnknown: true })
      expect(await waiting).toMatchObject({ retryable: true, outcomeUnknown: false })
      expect(session.isLost).toBe(true)
    })

    test('time spent waiting behind other queries does not count', async () => {
      await using engine = engineOn(database.url)
      const session = await engine.connect({ ...OPTIONS, timeoutMs: 1_000 })
      const naps = Array.from({ length: 8 }, () =>
        session.query(query('select pg_sleep(0.2)::text as nap')),
      )
      expect(await Promise.all(naps)).toHaveLength(8)
    })

    test('a server that accepts and hangs up is retryable, and is not asked in a loop', async () => {
      await using proxy = await proxyTo(database.url, { refuse: () => Buffer.alloc(0) })
      await using engine = engineOn(proxy.url)
      expect(await failure(engine.connect(OPTIONS))).toMatchObject({ retryable: true })
      expect(proxy.connections).toBe(1)
    })

    test('a deadlock is 40P01 and retryable', async () => {
      await using engine = engineOn(database.url)
      const [left, right] = await Promise.all([engine.connect(OPTIONS), engine.connect(OPTIONS)])
      await left.execute('insert into public.kept values (100), (101)')
      let entered = 0
      const cross = (session: Session, first: number, second: number) =>
        session.transaction(async (transaction) => {
          await transaction.query(lockRow(first))
          entered += 1
          await until(() => entered === 2)
          await transaction.query(lockRow(second))
        })
      const outcomes = await Promise.allSettled([cross(left, 100, 101), cross(right, 101, 100)])
      const loser = outcomes.find((outcome) => outcome.status === 'rejected')
      expect(loser?.reason).toMatchObject({
        sqlstate: '40P01',
        retryable: true,
        outcomeUnknown: false,
      })
      expect(left.isLost || right.isLost).toBe(false)
    })
  })
}
