import type { PGlite, Transaction } from '@electric-sql/pglite'
import type { Client, Pool, PoolClient } from 'pg'
import type { ReservedSql, Sql, TransactionSql } from 'postgres'
import { expectTypeOf, test } from 'vitest'
import type { Tx } from '../../src/database/transaction-types.ts'

declare function inside<T>(tx: T & Tx<T>): T

type Refused =
  'mill.in() wants a transaction; this is a pool or a whole database. Use mill.enqueue(), or open a transaction and pass that.'
type Unknown =
  'mill.in() does not know this transaction: pass one of pg, postgres.js, PGlite, or { query(text, values) }.'

interface OfMine {
  query(text: string, values: unknown[]): Promise<unknown[]>
}

test('transactions are taken as they are', () => {
  expectTypeOf<Tx<Client>>().toEqualTypeOf<Client>()
  expectTypeOf<Tx<PoolClient>>().toEqualTypeOf<PoolClient>()
  expectTypeOf<Tx<TransactionSql>>().toEqualTypeOf<TransactionSql>()
  expectTypeOf<Tx<Transaction>>().toEqualTypeOf<Transaction>()
  expectTypeOf<Tx<OfMine>>().toEqualTypeOf<OfMine>()
})

test('a pool or a whole database is a sentence that says so', () => {
  expectTypeOf<Tx<Pool>>().toEqualTypeOf<Refused>()
  expectTypeOf<Tx<PGlite>>().toEqualTypeOf<Refused>()
  expectTypeOf<Tx<Sql>>().toEqualTypeOf<Refused>()
  expectTypeOf<Tx<ReservedSql>>().toEqualTypeOf<Refused>()
})

test('what is no transaction is a sentence that lists them', () => {
  expectTypeOf<Tx<string>>().toEqualTypeOf<Unknown>()
  expectTypeOf<Tx<{ execute(): void }>>().toEqualTypeOf<Unknown>()
})

declare const client: PoolClient
declare const pool: Pool
declare const sql: Sql

test('in a call', () => {
  expectTypeOf(inside(client)).toEqualTypeOf<PoolClient>()
  // @ts-expect-error a pool would enqueue outside the transaction
  inside(pool)
  // @ts-expect-error so would the whole of postgres.js
  inside(sql)
})
