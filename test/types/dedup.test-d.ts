// oxlint-disable vitest/expect-expect -- the compiler asserts: it refuses a @ts-expect-error over a line that compiles
import { describe, expectTypeOf, test } from 'vitest'
import { z } from 'zod'
import { typed } from '../../src/core/schema.ts'
import { defineJob } from '../../src/jobs/kind.ts'
import type { Dedup, MergeExisting } from '../../src/jobs/merge.ts'
import type { Mill } from '../../src/mill.ts'

const input = typed<{ user: string; n: number }>()
const key = ({ user }: { user: string }): string => user
declare const mill: Mill

describe('dedup', () => {
  test('takes a key, or a key with one way to meet', () => {
    defineJob('a', { input, dedup: 'k' })
    defineJob('a', { input, dedup: ({ user }) => user })
    defineJob('a', { input, dedup: ({ n }) => (n > 1 ? String(n) : undefined) })
    defineJob('a', { input, dedup: { key } })
    defineJob('a', { input, dedup: { key, scope: 'pending' } })
    defineJob('a', { input, dedup: { key, scope: 'live' } })
    defineJob('a', { input, dedup: { key, scope: 'live', rerun: true } })
    defineJob('a', { input, dedup: { key, throttle: '5s' } })
    defineJob('a', { input, dedup: { key, debounce: '5s', atMost: 60_000 } })
  })

  test('refuses two ways at once, and options of another way', () => {
    // @ts-expect-error no key
    defineJob('a', { input, dedup: { scope: 'live' } })
    // @ts-expect-error throttle and debounce
    defineJob('a', { input, dedup: { key, throttle: '5s', debounce: '5s' } })
    // @ts-expect-error a scope and a throttle
    defineJob('a', { input, dedup: { key, scope: 'live', throttle: '5s' } })
    // @ts-expect-error rerun belongs to live
    defineJob('a', { input, dedup: { key, scope: 'pending', rerun: true } })
    // @ts-expect-error atMost belongs to debounce
    defineJob('a', { input, dedup: { key, throttle: '5s', atMost: '1m' } })
    // @ts-expect-error no such scope
    defineJob('a', { input, dedup: { key, scope: 'running' } })
    // @ts-expect-error no duration
    defineJob('a', { input, dedup: { key, throttle: '5 seconds' } })
    // @ts-expect-error keys are text
    defineJob('a', { input, dedup: ({ n }: { n: number }) => n })
    // @ts-expect-error keys are made at once
    defineJob('a', { input, dedup: ({ user }: { user: string }) => Promise.resolve(user) })
    // @ts-expect-error no such member of the input
    defineJob('a', { input, dedup: ({ users }) => users })
  })

  test('makes the key of the parsed input', () => {
    const parsed = z.object({ n: z.string().transform(Number) })
    defineJob('a', { input: parsed, dedup: ({ n }) => n.toFixed(0) })
    expectTypeOf<Dedup<{ n: number }>>().not.toBeAny()
  })

  test('of a call is a text', () => {
    const kind = defineJob('a', { input })
    void mill.enqueue(kind, { user: 'a', n: 1 }, { dedup: 'k' })
    // @ts-expect-error a text
    void mill.enqueue(kind, { user: 'a', n: 1 }, { dedup: { key: 'k' } })
  })
})

describe('merge', () => {
  test('takes a word, or a function of both asks', () => {
    defineJob('a', { input, dedup: key, merge: 'keep' })
    defineJob('a', { input, dedup: key, merge: 'replace' })
    defineJob('a', { input, dedup: key, merge: 'independent' })
    defineJob('a', { input, dedup: key, merge: () => 'keep' })
    // @ts-expect-error no such word
    defineJob('a', { input, dedup: key, merge: 'override' })
    // @ts-expect-error no such word
    defineJob('a', { input, dedup: key, merge: () => 'override' })
  })

  test('without carry answers the input', () => {
    defineJob('a', {
      input,
      merge: (existing, incoming) => {
        expectTypeOf(existing).toEqualTypeOf<
          MergeExisting<{ user: string; n: number }, undefined>
        >()
        return { input: { ...incoming.input, n: existing.input.n + incoming.input.n } }
      },
    })
    // @ts-expect-error the whole input
    defineJob('a', { input, merge: () => ({ input: { n: 1 } }) })
    // @ts-expect-error the input is a member
    defineJob('a', { input, merge: (_existing, incoming) => incoming.input })
  })

  test('with carry answers both', () => {
    const carry = { page: 0 }
    defineJob('a', {
      input,
      carry,
      merge: (existing, incoming) => ({
        input: incoming.input,
        carry: { page: existing.carry.page + incoming.carry.page },
      }),
    })
    // @ts-expect-error the carry too
    defineJob('a', { input, carry, merge: (_existing, { input: next }) => ({ input: next }) })
    // @ts-expect-error the carry as it is declared
    defineJob('a', { input, carry, merge: (_e, i) => ({ input: i.input, carry: { page: 'one' } }) })
  })

  test('is not asynchronous', () => {
    // @ts-expect-error a promise
    defineJob('a', { input, merge: () => Promise.resolve('keep' as const) })
    // @ts-expect-error a promise
    defineJob('a', { input, merge: async (_existing, incoming) => ({ input: incoming.input }) })
  })

  test('sees inputs as they are stored, not as the schema makes them', () => {
    defineJob('a', {
      input: z.object({ n: z.string().transform(Number) }),
      merge: (existing, incoming) => {
        expectTypeOf(existing.input.n).toEqualTypeOf<string>()
        return { input: { n: existing.input.n + incoming.input.n } }
      },
    })
  })
})
