import { describe, expect, test } from 'vitest'
import type { Session } from '../../src/database/database.ts'
import { type Bench, failure, OPTIONS, query } from './bench.ts'

/** Statements, their names and their order; sessions and their end. */
export function queryConformance(bench: () => Bench): void {
  describe('queries', () => {
    test('queries run in the order of the calls', async () => {
      await bench().session.execute(
        'create table public.sequence_of_calls (n int4, at int4 generated always as identity)',
      )
      const insert = 'insert into public.sequence_of_calls (n) values ($1::int4)'
      await Promise.all(
        Array.from({ length: 50 }, (_, n) => bench().session.query(query(insert, [n]))),
      )
      const rows = await bench().session.query(
        query('select n from public.sequence_of_calls order by at'),
      )
      expect(rows.map((row) => row['n'])).toEqual(Array.from({ length: 50 }, (_, n) => n))
    })

    test('a statement without rows answers none', async () => {
      expect(
        await bench().session.query(query('delete from public.taken where id = $1::int4', [-1])),
      ).toEqual([])
    })

    test('a name is used again with other values', async () => {
      const text = 'select $1::int4 + $2::int4 as sum'
      for (let n = 0; n < 10; n += 1) {
        expect(await bench().session.query(query(text, [n, 1], 'sum'))).toEqual([{ sum: n + 1 }])
      }
    })

    test('one name with another text is another statement', async () => {
      expect(await bench().session.query(query('select $1::int4 as a', [1], 'twice'))).toEqual([
        { a: 1 },
      ])
      expect(await bench().session.query(query('select $1::text as b', ['x'], 'twice'))).toEqual([
        { b: 'x' },
      ])
      expect(await bench().session.query(query('select $1::int4 as a', [2], 'twice'))).toEqual([
        { a: 2 },
      ])
    })

    test('a name longer than an identifier does no harm', async () => {
      const name = 'n'.repeat(80)
      expect(await bench().session.query(query('select 1 as one', [], `${name}a`))).toEqual([
        { one: 1 },
      ])
      expect(await bench().session.query(query('select 2 as two', [], `${name}b`))).toEqual([
        { two: 2 },
      ])
    })

    test('nothing is prepared with prepare: false', async () => {
      const plain = await bench().engine.connect({ ...OPTIONS, prepare: false })
      const count = 'select count(*)::int4 as n from pg_prepared_statements where name <> $1::text'
      const before = await plain.query(query(count, ['']))
      await plain.query(query('select $1::int4 as a', [1], 'unprepared'))
      expect(await plain.query(query(count, ['']))).toEqual(before)
      await plain.close()
    })

    test('several statements run in one text, and all of them', async () => {
      await bench().session.execute(
        "create table public.a (x int4); insert into public.a values (1), (2); select 'done';",
      )
      expect(
        await bench().session.query(query('select count(*)::int4 as n from public.a')),
      ).toEqual([{ n: 2 }])
    })

    test('an error in one of several statements leaves nothing of them', async () => {
      expect(
        await failure(bench().session.execute('create table public.b (x int4); select 1/0')),
      ).toMatchObject({
        sqlstate: '22012',
      })
      expect(
        await bench().session.query(query("select to_regclass('public.b')::text as b")),
      ).toEqual([{ b: null }])
    })
  })

  describe('plans', () => {
    test('plans are pinned for every statement of a session', async () => {
      const text = `select current_setting('enable_seqscan') as seq, current_setting('enable_bitmapscan') as bitmap,
        current_setting('jit') as jit, current_setting('enable_sort') as sort`
      const pinned = [{ seq: 'off', bitmap: 'off', jit: 'off', sort: 'on' }]
      expect(await bench().session.query(query(text))).toEqual(pinned)
      expect(
        await bench().session.transaction((transaction) => transaction.query(query(text))),
      ).toEqual(pinned)
    })
  })

  describe('closing', () => {
    test('a session closes twice, refuses what comes after, and finishes what came before', async () => {
      const other = await bench().engine.connect(OPTIONS)
      const last = other.query(query('select 1 as one'))
      await Promise.all([other.close(), other.close()])
      expect(await last).toEqual([{ one: 1 }])
      expect(await failure(other.query(query('select 1')))).toMatchObject({ retryable: false })
      await other.close()
    })

    test('a session is disposed of by `await using`', async () => {
      const sessions: Session[] = []
      {
        await using inner = await bench().engine.connect(OPTIONS)
        sessions.push(inner)
        await inner.query(query('select 1'))
      }
      const [escaped] = sessions
      await expect(escaped?.query(query('select 1'))).rejects.toThrow('this session is closed')
    })
  })
}
