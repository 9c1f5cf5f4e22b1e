import { setTimeout as pause } from 'node:timers/promises'
import type { Mill } from 'millrace'
import type { Pool } from 'pg'
import type { Complain } from './complaints.ts'
import { orders } from './kinds.ts'

/** Readers of the stream, two names for all processes: whoever has a name reads, the others stand by. */
export interface Reading {
  readonly mill: Mill
  readonly own: Pool
  readonly signal: AbortSignal
  readonly complain: Complain
}

export const FOLLOWERS: readonly { readonly as: string; readonly isOnce: boolean }[] = [
  { as: 'totals', isOnce: true },
  { as: 'mailer', isOnce: false },
]

const LEASE = 3_000
const SEEN = 'insert into seen (consumer, stream, event_offset, id) values ($1, $2, $3, $4)'
const AGAIN_AFTER = 100

export async function readOn(reading: Reading): Promise<void> {
  await Promise.all([
    again(reading, 'consume', () => consume(reading)),
    again(reading, 'subscribe', () => subscribe(reading)),
  ])
}

async function consume({ mill, signal }: Reading): Promise<void> {
  const options = { as: 'totals', lease: LEASE, limit: 50, signal }
  await mill.consume(orders, options, async (events, tx) => {
    for (const { offset, id } of events) await tx.query(SEEN, ['totals', orders.name, offset, id])
  })
}

async function subscribe({ mill, own, signal }: Reading): Promise<void> {
  for await (const { offset, id } of mill.subscribe(orders, {
    as: 'mailer',
    lease: LEASE,
    signal,
  })) {
    await own.query(SEEN, ['mailer', orders.name, offset, id])
  }
}

/** A loop that ends by an error is begun again, as an application would. */
async function again(
  { signal, complain }: Reading,
  where: string,
  work: () => Promise<void>,
): Promise<void> {
  while (!signal.aborted) {
    await work().catch((error: unknown) => complain(where, error))
    await pause(AGAIN_AFTER, undefined, { signal }).catch(() => undefined)
  }
}
