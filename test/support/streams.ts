import type { Client } from 'pg'
import { defineStream, typed } from '../../src/index.ts'
import type { EventToPublish, Mill, StreamDefinition, StreamEvent } from '../../src/index.ts'

interface OrderTypes {
  name: 'orders'
  input: { n: number }
  data: { n: number }
}

/** The stream of most tests. */
export const orders: StreamDefinition<OrderTypes> = defineStream('orders', {
  data: typed<{ n: number }>(),
})

/** Events numbered from `first` to `last`. */
export function numbered(first: number, last: number): EventToPublish<typeof orders>[] {
  return Array.from({ length: last - first + 1 }, (_, index) => ({ data: { n: first + index } }))
}

export function range(first: number, last: number): readonly number[] {
  return Array.from({ length: last - first + 1 }, (_, index) => first + index)
}

/** Takes events up to that one of its numbers, which stays unacknowledged. */
export async function takeUntil(
  events: AsyncIterable<StreamEvent<{ n: number }>>,
  last: number,
): Promise<readonly StreamEvent<{ n: number }>[]> {
  const taken: StreamEvent<{ n: number }>[] = []
  for await (const event of events) {
    taken.push(event)
    if (event.data.n === last) break
  }
  return taken
}

export async function savedOffset(mill: Mill, as: string): Promise<number | undefined> {
  const consumers = await mill.streams.consumers(orders)
  return consumers.find((each) => each.as === as)?.offset
}

/** The publish of an event on a session of the test, in whatever transaction is open there. */
export async function publishOn(mill: Mill, session: Client, n: number): Promise<void> {
  await mill.in(session).publish(orders, { n })
}
