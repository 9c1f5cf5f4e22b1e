import assert from 'node:assert/strict'
import { defineStream, typed } from 'millrace'
import type { Mill } from 'millrace'
import { shortly } from './shortly.ts'

const orders = defineStream('orders', { data: typed<{ n: number; text: string }>() })
const TEXT = 'Ünïcode \u0000'

/** Published, given offsets, read, followed by name, consumed in a transaction, trimmed. */
export async function streamsLive(mill: Mill): Promise<void> {
  const events = [1, 2, 3, 4].map((n) => ({ data: { n, text: TEXT }, key: `k${n}` }))
  await mill.publishMany(orders, events)
  const last = await mill.publish(orders, { n: 5, text: TEXT })
  assert.equal(await mill.streams.offset(orders, last), 5)
  await Promise.all([followed(mill), consumed(mill)])
  const read = await mill.streams.read(orders, { after: 2, limit: 2 })
  assert.deepEqual(
    read.map(({ offset, data }) => [offset, data.n, data.text]),
    [
      [3, 3, TEXT],
      [4, 4, TEXT],
    ],
  )
  await mill.streams.trim(orders, { before: 3 })
  const [record] = await mill.streams.list()
  assert.deepEqual([record?.stream, record?.head], ['orders', 5])
}

async function followed(mill: Mill): Promise<void> {
  const seen: number[] = []
  for await (const { offset, data } of mill.subscribe(orders, { as: 'reader', from: 'start' })) {
    assert.equal(offset, data.n)
    seen.push(offset)
    if (offset === 5) break
  }
  assert.deepEqual(seen, [1, 2, 3, 4, 5])
  await shortly('its place is saved', async () => {
    const consumers = await mill.streams.consumers(orders)
    assert.equal(consumers.find(({ as }) => as === 'reader')?.offset, 4)
  })
}

async function consumed(mill: Mill): Promise<void> {
  const over = new AbortController()
  const seen: number[] = []
  const options = { as: 'totals', from: 'start', limit: 2, signal: over.signal } as const
  await mill.consume(orders, options, async (events, tx) => {
    await tx.query('select $1::int as n', [events.length])
    seen.push(...events.map(({ offset }) => offset))
    if (seen.includes(5)) over.abort()
  })
  assert.deepEqual(seen, [1, 2, 3, 4, 5])
  const consumers = await mill.streams.consumers(orders)
  assert.equal(consumers.find(({ as }) => as === 'totals')?.offset, 5)
}
