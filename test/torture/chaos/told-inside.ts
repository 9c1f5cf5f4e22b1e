import { setTimeout as pause } from 'node:timers/promises'
import type { Mill } from 'millrace'
import type { Pool, PoolClient } from 'pg'
import { between } from '../random.ts'
import type { Random } from '../random.ts'
import { mails, orders } from './kinds.ts'

/**
 * Events and messages in transactions of the application's, which are held open for a while, rolled
 * back, or cut off. What was committed says a table of its own, written in the same transaction: a
 * commit without an answer needs no other witness.
 */
export interface Telling {
  readonly mill: Mill
  readonly own: Pool
  readonly random: Random
}

const COMMITTED = 'insert into committed values ($1, $2)'
// Last in the transaction: whatever this snapshot sees was committed before this commit began.
const SENT = `
  insert into post.committed (key, id, xid, snapshot)
  values ($1, $2, pg_current_xact_id(), pg_current_snapshot())`
const KEYS = 10

export function publishSome({ mill, own, random }: Telling): Promise<void> {
  return inside(own, random, async (transaction) => {
    for (let count = between(random, 1, 3); count > 0; count -= 1) {
      const { id } = await mill.in(transaction).publish(orders, { n: count })
      await transaction.query(COMMITTED, [orders.name, id])
    }
  })
}

export function sendOne({ mill, own, random }: Telling): Promise<void> {
  const key = `key ${between(random, 1, KEYS)}`
  return inside(own, random, async (transaction) => {
    const mail = { fails: random() < 0.1 ? between(random, 1, 2) : 0 }
    const { id } = await mill.in(transaction).send(mails, mail, { key })
    await transaction.query(SENT, [key, id])
  })
}

async function inside(
  own: Pool,
  random: Random,
  work: (transaction: PoolClient) => Promise<void>,
): Promise<void> {
  const transaction = await own.connect()
  let isSound = false
  try {
    await transaction.query('begin')
    await work(transaction)
    if (random() < 0.2) await pause(between(random, 0, 200))
    await transaction.query(random() < 0.1 ? 'rollback' : 'commit')
    isSound = true
  } finally {
    // One that failed is not mended but closed, and its transaction with it.
    transaction.release(!isSound)
  }
}
