import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { hostname, tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import type { PGlite } from '@electric-sql/pglite'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import type { Engine, Session } from '../../src/database/database.ts'
import { borrowedTransaction } from '../../src/database/drivers/borrowed.ts'
import { lockDirectory } from '../../src/database/drivers/directory-lock.ts'
import { pgliteEngine } from '../../src/database/drivers/pglite.ts'
import { InvalidOptionError } from '../../src/errors.ts'
import { startPglite } from '../support/pglite.ts'
import { failure, OPTIONS, query } from './bench.ts'

const insert = (id: number) => query('insert into taken (id) values ($1::int4)', [id], 'take')

// Each PGlite is seconds of work for the processor, and a busy machine has many.
vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 })

describe("on the caller's instance", () => {
  let instance: PGlite
  let engine: Engine
  let session: Session

  beforeAll(async () => {
    instance = await startPglite()
    engine = pgliteEngine({ instance })
    session = await engine.connect(OPTIONS)
    await instance.exec('create table taken (id int4 primary key)')
  })
  beforeEach(() => instance.exec('delete from taken'))
  afterAll(() => instance.close())

  const ids = async () => (await instance.query('select id from taken order by id')).rows

  test('23: awaiting us inside his own transaction fails within 5 s, names mill.in(tx), and never runs later', async () => {
    const began = performance.now()
    await instance.transaction(async (tx) => {
      await tx.query('insert into taken (id) values (1)')
      const error = await failure(session.query(insert(2)))
      expect(error.message).toContain('mill.in(tx)')
      expect(error).toMatchObject({ retryable: false, outcomeUnknown: false })
    })
    const took = performance.now() - began
    expect(took).toBeGreaterThan(4_900)
    expect(took).toBeLessThan(8_000)
    await session.query(query('select 1'))
    expect(await ids()).toEqual([{ id: 1 }])
  })

  test('what he waits for in mill.in(tx) is part of his transaction', async () => {
    const own = new Error('mine')
    const undone = instance.transaction(async (tx) => {
      await borrowedTransaction(tx).query(insert(3))
      throw own
    })
    await expect(undone).rejects.toBe(own)
    expect(await ids()).toEqual([])
  })

  test('a statement waits for his transaction while it is short', async () => {
    const his = instance.transaction(() => pause(50))
    await Promise.all([his, session.query(insert(4))])
    expect(await ids()).toEqual([{ id: 4 }])
  })

  test('his statements never see our plan settings', async () => {
    const seqscan = "select current_setting('enable_seqscan') as seqscan"
    await session.query(query(seqscan))
    await session.transaction((transaction) => transaction.query(query(seqscan)))
    await failure(session.query(query('select 1/0')))
    expect((await instance.query(seqscan)).rows).toEqual([{ seqscan: 'on' }])
  })

  test('closing the engine leaves it open', async () => {
    const other = pgliteEngine({ instance })
    await (await other.connect(OPTIONS)).query(query('select 1'))
    await other.close()
    expect(instance.closed).toBe(false)
    expect(await failure(other.connect(OPTIONS))).toMatchObject({ retryable: false })
  })

  test('one that he closes is a lost session, and a listening connection finds out by its ping', async () => {
    const his = await startPglite()
    const other = pgliteEngine({ instance: his })
    const lost = await other.connect(OPTIONS)
    const losses: unknown[] = []
    const listening = await other.listen('millrace_closed', {
      onNotification: () => {},
      onLost: (error) => losses.push(error),
    })
    await his.close()
    expect(lost.isLost).toBe(true)
    await failure(lost.query(query('select 1')))
    await expect(listening.ping(1_000)).rejects.toThrow('closed')
    expect(losses).toHaveLength(1)
    await listening.close()
  })
})

describe('in memory', () => {
  let engine: Engine

  beforeAll(() => {
    engine = pgliteEngine({ memory: true })
  })
  afterAll(() => engine.close())

  test('sessions share one database, and one that waits for a held transaction is sent away', async () => {
    const [one, two] = await Promise.all([engine.connect(OPTIONS), engine.connect(OPTIONS)])
    await one.execute('create table taken (id int4 primary key)')
    await one.transaction(async (transaction) => {
      await transaction.query(insert(1))
      expect((await failure(two.query(insert(2)))).message).toContain('mill.in(tx)')
    })
    expect(await two.query(query('select id from taken'))).toEqual([{ id: 1 }])
  })

  test('vacuum works on an instance of our own', async () => {
    const session = await engine.connect(OPTIONS)
    await expect(session.execute('vacuum')).resolves.toBeUndefined()
  })
})

describe('in a directory', () => {
  let directory: string

  beforeEach(() => {
    directory = mkdtempSync(join(tmpdir(), 'millrace-pglite-'))
  })
  afterEach(() => rmSync(directory, { recursive: true, force: true }))

  test('one has it open at a time, and what was written is there for the next', async () => {
    const first = pgliteEngine({ directory })
    const session = await first.connect(OPTIONS)
    await session.execute('create table taken (id int4 primary key)')
    await session.query(insert(1))

    await using second = pgliteEngine({ directory })
    const refused = second.connect(OPTIONS)
    await expect(refused).rejects.toThrow(InvalidOptionError)
    await expect(refused).rejects.toThrow(`process ${process.pid} has this embedded database open`)

    await first.close()
    const next = await second.connect(OPTIONS)
    expect(await next.query(query('select id from taken'))).toEqual([{ id: 1 }])
  })

  const lock = () => join(directory, 'millrace.lock')

  test('the lock of a process that is gone is taken over', () => {
    writeFileSync(lock(), `999999999 ${hostname()}\n`)
    const unlock = lockDirectory(directory)
    expect(readFileSync(lock(), 'utf8')).toBe(`${process.pid} ${hostname()}\n`)
    unlock()
    unlock()
  })

  test('so is that of an earlier process with our id, and that of another host', () => {
    for (const owner of [`${process.pid} ${hostname()}\n`, '1 some-container\n']) {
      writeFileSync(lock(), owner)
      const unlock = lockDirectory(directory)
      expect(() => lockDirectory(directory)).toThrow(`process ${process.pid} has`)
      unlock()
    }
  })

  test('a process that lives keeps it', () => {
    writeFileSync(lock(), `${process.ppid} ${hostname()}\n`)
    expect(() => lockDirectory(directory)).toThrow(`process ${process.ppid} has`)
  })
})

test('a loop of awaits on the embedded database leaves the event loop its turns', async () => {
  await using instance = await startPglite()
  await using engine = pgliteEngine({ instance })
  await using session = await engine.connect({ purpose: 'test', timeoutMs: 60_000 })
  let ticks = 0
  const timer = setInterval(() => (ticks += 1), 5)
  for (let index = 0; index < 300; index += 1) {
    await session.query({ name: 'one', text: 'select 1 as one', values: [] })
  }
  clearInterval(timer)
  expect(ticks).toBeGreaterThan(1)
}, 120_000)
