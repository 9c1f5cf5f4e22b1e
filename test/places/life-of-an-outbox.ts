import assert from 'node:assert/strict'
import { defineOutbox, typed } from 'millrace'
import type { Mill } from 'millrace'
import { shortly } from './shortly.ts'

const webhooks = defineOutbox('webhooks', {
  message: typed<{ to: string; n: number }>(),
  key: ({ to }) => to,
  retry: { failures: 3, backoff: { type: 'fixed', base: 1, jitter: 0 } },
})

/** Delivered in order per key, also where a try fails. */
export async function outboxLives(mill: Mill): Promise<void> {
  const delivered: string[] = []
  let hasFailed = false
  const worker = mill.worker().deliver(webhooks, ({ to, n }) => {
    if (n === 1 && !hasFailed) {
      hasFailed = true
      throw new Error('not now')
    }
    delivered.push(`${to} ${n}`)
  })
  await worker.start()
  try {
    for (const n of [1, 2, 3]) {
      await mill.send(webhooks, { to: 'ada', n })
      await mill.send(webhooks, { to: 'bob', n: n + 10 })
    }
    await shortly('all are delivered', () => assert.equal(delivered.length, 6))
    assert.deepEqual(of(delivered, 'ada'), ['ada 1', 'ada 2', 'ada 3'])
    assert.deepEqual(of(delivered, 'bob'), ['bob 11', 'bob 12', 'bob 13'])
    assert.deepEqual(await mill.outboxes.halted(), [])
  } finally {
    await worker.stop()
  }
}

function of(delivered: readonly string[], to: string): readonly string[] {
  return delivered.filter((each) => each.startsWith(to))
}
