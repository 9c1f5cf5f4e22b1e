// oxlint-disable vitest/expect-expect -- the compiler asserts: it refuses a @ts-expect-error over a line that compiles
import type { PGlite } from '@electric-sql/pglite'
import type { Sql, TransactionSql } from 'postgres'
import { describe, expectTypeOf, test } from 'vitest'
import { defineHandlers, defineJob, typed } from '../../src/index.ts'
import type { CarryOf, JobRecord, Paused, Run, Transaction } from '../../src/index.ts'

const plain = defineJob('plain')
const walk = defineJob('walk', { input: typed<{ from: number }>(), carry: { page: 0 } })
const derived = defineJob('derived', {
  input: typed<{ from: number }>(),
  carry: ({ from }): { left: number; seen: string[] } => ({ left: from, seen: [] }),
  result: typed<{ url: string }>(),
})
declare const run: Run<typeof derived>
declare const sql: Sql
declare const pglite: PGlite

describe('carry', () => {
  test('has the type of the kind’s default, or of what its function gives', () => {
    expectTypeOf<CarryOf<typeof plain>>().toEqualTypeOf<undefined>()
    expectTypeOf<CarryOf<typeof walk>>().toEqualTypeOf<{ page: number }>()
    expectTypeOf<CarryOf<typeof derived>>().toEqualTypeOf<{ left: number; seen: string[] }>()
    expectTypeOf(run.carry).toEqualTypeOf<{ left: number; seen: string[] }>()
  })

  test('is assigned as it is, or changed inside', () => {
    run.carry = { left: 1, seen: [] }
    run.carry.left -= 1
    // @ts-expect-error a member is missing
    run.carry = { left: 1 }
    // @ts-expect-error text is no number
    run.carry.left = '1'
  })

  test('must survive JSON', () => {
    // @ts-expect-error a Date comes back as text
    defineJob('k', { carry: { at: new Date(0) } })
    // @ts-expect-error the same from a function
    defineJob('k', { input: typed<string>(), carry: () => ({ at: new Date(0) }) })
  })

  test('stands in records, null while nothing is stored', () => {
    expectTypeOf<JobRecord<typeof walk>['carry']>().toEqualTypeOf<{ page: number } | null>()
  })
})

describe('handlers', () => {
  test('return the result, or what a pause gave', () => {
    defineHandlers().handle(derived, (_input, each) => each.pause({ for: '5m' }))
    defineHandlers().handle(derived, async (_input, each) =>
      each.carry.left > 0 ? each.pause({ until: new Date(0) }) : { url: '/done' },
    )
    // @ts-expect-error neither of them
    defineHandlers().handle(derived, async () => ({ uri: '/done' }))
    expectTypeOf(run.pause({ for: '1s' })).toEqualTypeOf<Paused>()
  })

  test('pause for a while or until an instant, not both', () => {
    // @ts-expect-error both
    run.pause({ for: '1s', until: new Date(0) })
    // @ts-expect-error neither
    run.pause({})
  })

  test('enqueue as a client does, and hear nothing of the outcome', () => {
    expectTypeOf(run.enqueue(walk, { from: 1 }, { delay: '1h' })).toEqualTypeOf<Promise<void>>()
    void run.enqueue(plain)
    // @ts-expect-error the input is missing
    void run.enqueue(walk)
  })
})

describe('run.transaction', () => {
  test('gives fn a transaction of ours, or of the library that is passed', () => {
    void run.transaction(async (tx) => {
      expectTypeOf(tx).toEqualTypeOf<Transaction>()
      const { rows } = await tx.query<{ n: number }>('select 1 as n')
      expectTypeOf(rows).toEqualTypeOf<{ n: number }[]>()
    })
    void run.transaction(sql, async (tx) => {
      expectTypeOf(tx).toEqualTypeOf<TransactionSql>()
    })
    void run.transaction(pglite, async (tx) => {
      expectTypeOf(tx.query).toBeFunction()
    })
    // @ts-expect-error nothing that opens transactions
    void run.transaction({}, async () => undefined)
  })

  test('gives back what fn gave', () => {
    expectTypeOf(run.transaction(async () => 1)).toEqualTypeOf<Promise<number>>()
  })
})
