import { expect, test } from 'vitest'
import { namespace } from '../../src/database/namespace.ts'
import { bind, render, statement } from '../../src/database/statement.ts'
import type { Statement } from '../../src/database/statement.ts'

const between: Statement<{ from: number; until: number | null }, { id: string }> = statement(
  'between',
  `
select id, $from::text
from millrace.jobs
where n >= $from::int and n < $until::int and m >= $from
`,
)

test('parameters are numbered in the order they first appear, and each once', () => {
  expect(between.parameters).toEqual(['from', 'until'])
  expect(render(between, namespace())).toContain('n >= $1::int and n < $2::int and m >= $1')
})

test('values follow the numbers, null is a value', () => {
  const query = bind(between, { until: null, from: 3 }, namespace('app', 'p_'))

  expect(query.name).toBe('between')
  expect(query.values).toEqual([3, null])
  expect(query.text).toContain('from "app"."p_jobs"')
})

test('a parameter that is missing throws and names itself', () => {
  // @ts-expect-error a parameter is missing
  const params: { from: number; until: number | null } = { from: 3 }

  expect(() => bind(between, params, namespace())).toThrow(/between lacks its parameter \$until/)
})

test('a cast, a dollar quote and a number are no parameters', () => {
  const plain = statement('plain', 'select $1, a::text, $$body$$, x$y')

  expect(plain.parameters).toEqual([])
})

test('one text is rendered once for a namespace, and apart for another', () => {
  const [one, other] = [namespace('one'), namespace('other')]

  expect(render(between, one)).toContain('"one"."jobs"')
  expect(render(between, other)).toContain('"other"."jobs"')
  expect(one.rendered.size).toBe(1)
})
