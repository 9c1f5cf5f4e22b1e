import { describe, expect, test } from 'vitest'
import type { Value } from '../../src/database/database.ts'
import { type Bench, failure, query } from './bench.ts'

/** Values go in and come out the same with every library. */
export function valueConformance(bench: () => Bench): void {
  async function echo(cast: string, value: Value): Promise<unknown> {
    const text = `select $1::${cast} as value`
    const [row] = await bench().session.query(query(text, [value], `echo ${cast}`))
    return row?.['value']
  }

  describe('values', () => {
    const texts = [
      '',
      'O\'Reilly "quoted" \\ back',
      'Grüße, 世界 👋',
      '{"a":1}',
      'null',
      '\t\n',
      "';--",
    ]
    test.each(texts)('text %j comes back as it went in', async (text) => {
      expect(await echo('text', text)).toBe(text)
    })

    test('a lone surrogate arrives as U+FFFD', async () => {
      expect(await echo('text', 'a\ud800b')).toBe('a\ufffdb')
    })

    test('U+0000 is refused with 22021 and the session goes on', async () => {
      expect(await failure(echo('text', 'a\u0000b'))).toMatchObject({ sqlstate: '22021' })
      expect(await echo('int4', 1)).toBe(1)
    })

    test.each([0, 1, -1, 2_147_483_647, -2_147_483_648])('int4 %d is a number', async (value) => {
      expect(await echo('int4', value)).toBe(value)
    })

    test.each([
      0.1,
      1_700_000_000_123.456,
      Number.MAX_SAFE_INTEGER,
      5e-324,
      Infinity,
      -Infinity,
      Number.NaN,
    ])('float8 %d is the same number', async (value) => {
      expect(await echo('float8', value)).toBe(value)
    })

    test.each([true, false])('boolean %s is a boolean', async (value) => {
      expect(await echo('boolean', value)).toBe(value)
    })

    test.each(['text', 'int4', 'float8', 'boolean', 'json', 'timestamptz', 'text[]'])(
      'null is null as %s',
      async (cast) => {
        expect(await echo(cast, null)).toBeNull()
      },
    )

    test('an array literal passes as text and keeps quotes, commas and NULL', async () => {
      const rows = await bench().session.query(
        query('select e from unnest($1::text[]) with ordinality u(e, n) order by n', [
          '{a,"b c","d\\"e","f,g",NULL,""}',
        ]),
      )
      expect(rows.map((row) => row['e'])).toEqual(['a', 'b c', 'd"e', 'f,g', null, ''])
    })

    test('arrays of numbers and instants pass as literals, and list by list', async () => {
      const [row] = await bench().session.query(
        query(
          `select sum(i)::int4 as sum, max(extract(epoch from t))::float8 as latest
           from unnest($1::int4[], $2::timestamptz[]) u(i, t)`,
          ['{1,2,3}', '{2024-01-02T03:04:05.678Z,1970-01-01T00:00:00Z,-infinity}'],
        ),
      )
      expect(row).toEqual({ sum: 6, latest: 1_704_164_645.678 })
    })

    test('json text comes back exactly: key order, double keys, spelling of numbers', async () => {
      const document = '{"b":1.0,  "a":1e2,"b":"\\u0000","s":"\\ud800"}'
      const [row] = await bench().session.query(
        query('select ($1::text::json)::text as d', [document]),
      )
      expect(row?.['d']).toBe(document)
    })

    test('a json string is not encoded twice', async () => {
      const [row] = await bench().session.query(
        query("select json_typeof($1::text::json) as type, $1::text::json #>> '{}' as text", [
          '"x"',
        ]),
      )
      expect(row).toEqual({ type: 'string', text: 'x' })
    })

    test('instants pass as ISO text, infinity too', async () => {
      const text = 'select extract(epoch from $1::timestamptz)::float8 as at'
      expect(await bench().session.query(query(text, ['2024-01-02T03:04:05.678Z']))).toEqual([
        { at: 1_704_164_645.678 },
      ])
      expect(await bench().session.query(query(text, ['infinity']))).toEqual([{ at: Infinity }])
    })

    test('text and numbers are cast where the statement says so', async () => {
      expect(await echo('int4', '42')).toBe(42)
      expect(await echo('text', 42)).toBe('42')
      expect(await echo('text', true)).toBe('true')
      expect(await echo('boolean', 'true')).toBe(true)
    })

    test('8 MB of text pass', async () => {
      const text = 'ü'.repeat(4 * 1024 * 1024)
      expect(
        await bench().session.query(query('select octet_length($1::text) as n', [text])),
      ).toEqual([{ n: 8 * 1024 * 1024 }])
    })
  })
}
