import { describe, expect, test } from 'vitest'
import { type Bench, failure, query, takenIds } from './bench.ts'

/** Transactions commit whole, or not at all. */
export function transactionConformance(bench: () => Bench): void {
  describe('transactions', () => {
    test('a transaction commits and answers what its work answered', async () => {
      const answer = await bench().session.transaction(async (transaction) => {
        await transaction.query(
          query('insert into public.taken (id) values (1)  on conflict do nothing'),
        )
        await transaction.execute('insert into public.taken (id) values (2)')
        return 'done'
      })
      expect(answer).toBe('done')
      expect(await takenIds(bench().session)).toEqual(expect.arrayContaining([1, 2]))
    })

    test('work that throws rolls back, and its own error comes out', async () => {
      const own = new Error('mine')
      const attempt = bench().session.transaction(async (transaction) => {
        await transaction.query(query('insert into public.taken (id) values (10)'))
        throw own
      })
      await expect(attempt).rejects.toBe(own)
      expect(await takenIds(bench().session)).not.toContain(10)
    })

    test('a transaction is READ COMMITTED', async () => {
      const rows = await bench().session.transaction((transaction) =>
        transaction.query(query("select current_setting('transaction_isolation') as level")),
      )
      expect(rows).toEqual([{ level: 'read committed' }])
    })

    test('a statement that failed and was swallowed does not become a commit', async () => {
      const attempt = bench().session.transaction(async (transaction) => {
        await transaction.query(query('insert into public.taken (id) values (11)'))
        await transaction.query(query('select 1/0')).catch(() => {})
      })
      expect(await failure(attempt)).toMatchObject({ sqlstate: '22012' })
      expect(await takenIds(bench().session)).not.toContain(11)
    })

    test('a savepoint mends a failed statement, and the rest is committed', async () => {
      await bench().session.transaction(async (transaction) => {
        await transaction.query(query('insert into public.taken (id) values (12)'))
        await transaction.execute('savepoint a')
        await transaction.query(query('select 1/0')).catch(() => {})
        await transaction.execute('rollback to savepoint a')
      })
      expect(await takenIds(bench().session)).toContain(12)
    })

    test('queries of the session wait for the end of a transaction', async () => {
      const order: string[] = []
      const work = bench().session.transaction(async (transaction) => {
        await transaction.query(query('insert into public.taken (id) values (13)'))
        await transaction.query(query('select 1'))
        order.push('transaction')
      })
      const outside = bench()
        .session.query(query('select 1'))
        .then(() => order.push('query'))
      await Promise.all([work, outside])
      expect(order).toEqual(['transaction', 'query'])
    })

    test('statements that nobody awaited are inside', async () => {
      await bench().session.transaction(async (transaction) => {
        void transaction.query(query('insert into public.taken (id) values (14)'))
      })
      expect(await takenIds(bench().session)).toContain(14)
    })

    test('a statement after the end is refused', async () => {
      const leaked = await bench().session.transaction(async (transaction) => transaction)
      const error = await failure(
        leaked.query(query('insert into public.taken (id) values (15)', [], 'late')),
      )
      expect(error.message).toContain('after the end of its transaction')
      expect(await takenIds(bench().session)).not.toContain(15)
    })

    test('a constraint deferred to the commit fails the transaction', async () => {
      await bench().session.execute(
        'create table public.deferred (id int4 unique deferrable initially deferred)',
      )
      const attempt = bench().session.transaction(async (transaction) => {
        await transaction.query(query('insert into public.deferred values (1), (1)'))
      })
      expect(await failure(attempt)).toMatchObject({ sqlstate: '23505', outcomeUnknown: false })
      expect(await bench().session.query(query('select id from public.deferred'))).toEqual([])
    })
  })
}
