import { describe, expect, test } from 'vitest'
import { type Bench, failure, query } from './bench.ts'

/** What the server refuses is told the same way. */
export function errorConformance(bench: () => Bench): void {
  describe('errors', () => {
    test('a violated constraint is 23505, not retryable, and names the statement', async () => {
      const insert = 'insert into public.taken (id) values (1001)'
      await bench().session.query(query(insert))
      expect(await failure(bench().session.query(query(insert, [], 'take')))).toMatchObject({
        sqlstate: '23505',
        statement: 'take',
        retryable: false,
        outcomeUnknown: false,
        cause: expect.anything(),
      })
    })

    test('an error message never holds what was passed', async () => {
      const secret = 'geheim-4711'
      const casts = [
        'int4',
        'float8',
        'boolean',
        'timestamptz',
        'json',
        'uuid',
        'text[]',
        'interval',
      ]
      const errors = await Promise.all(
        casts.map((cast) =>
          failure(bench().session.query(query(`select $1::text::${cast}`, [secret]))),
        ),
      )
      await bench().session.query(
        query('insert into public.taken (id, note) values (1, $1::text)', [secret]),
      )
      await bench().session.execute('create unique index on public.taken (note)')
      const double = query('insert into public.taken (id, note) values (2, $1::text)', [secret])
      errors.push(await failure(bench().session.query(double)))
      for (const error of errors) expect(error.message).not.toContain('4711')
      expect(errors[0]?.message).toBe(
        'statement conformance failed: invalid text representation (SQLSTATE 22P02). Check the values that were passed.',
      )
    })

    test('a session goes on after an error', async () => {
      await failure(bench().session.query(query('select nonsense')))
      expect(await bench().session.query(query('select 1 as one'))).toEqual([{ one: 1 }])
    })

    test('a missing table says to migrate', async () => {
      const error = await failure(bench().session.query(query('select * from millrace_nowhere')))
      expect(error).toMatchObject({ sqlstate: '42P01' })
      expect(error.message).toMatch(/npx millrace migrate up$/)
    })
  })
}
