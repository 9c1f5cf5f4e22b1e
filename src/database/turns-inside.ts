import { AsyncLocalStorage } from 'node:async_hooks'
import { turns } from './drivers/turns.ts'
import type { TakeTurn } from './drivers/turns.ts'

/**
 * Calls inside one transaction of the caller's, one after another. What is written between the
 * savepoint of a call and its end goes when that call is taken back; without turns that could be a
 * job of another call, made beside it and answered already. A call that is made by what feeds a
 * call (inputs that enqueue) belongs to it, and does not wait for its end.
 */
export function inTurn<T>(transaction: object, work: () => Promise<T>): Promise<T> {
  if (current.getStore() === transaction) return work()
  let takeTurn = known.get(transaction)
  if (takeTurn === undefined) known.set(transaction, (takeTurn = turns()))
  return takeTurn(() => current.run(transaction, work))
}

const known = new WeakMap<object, TakeTurn>()
const current = new AsyncLocalStorage<object>()
