import { setTimeout as pause } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { typed } from '../../src/core/schema.ts'
import { defineJob } from '../../src/jobs/kind.ts'
import { assertOnePlace, assertRunsRecordedOnce, places, setup } from '../support/mill.ts'
import { until } from '../support/until.ts'

const KEYS = 10
const WRITERS = 8
const LASTS = 3_000

interface Ask {
  readonly key: number
  /** All asks that were folded into it. */
  readonly sum: number
}

const tick = defineJob('tick', {
  input: typed<Ask>(),
  dedup: ({ key }) => String(key),
  merge: (existing, incoming) => ({
    input: { key: incoming.input.key, sum: existing.input.sum + incoming.input.sum },
  }),
})

test('replays 16, D4: 8 writers ask for 10 keys while their jobs of 2 ms run: none is lost, none twice', async () => {
  await using t = await setup()
  const clients = await Promise.all(
    Array.from({ length: WRITERS }, () => setup({ schema: t.schema })),
  )
  let done = 0
  await using worker = t.mill.worker({ concurrency: 20 }).handle(tick, async ({ sum }) => {
    await pause(2)
    done += sum
  })
  await worker.start()
  const end = performance.now() + LASTS
  const twins: unknown[] = []
  let asked = 0

  async function write(mill: (typeof clients)[number]['mill'], writer: number): Promise<void> {
    for (let n = writer; performance.now() < end; n += 1) {
      const answer = await mill.enqueue(tick, { key: n % KEYS, sum: 1 })
      expect(answer.id).toHaveLength(26)
      asked += 1
    }
  }

  async function look(): Promise<void> {
    while (performance.now() < end) {
      const { rows } = await t.sql.query(
        'select dedup_key, count(*)::int from ready group by 1 having count(*) > 1',
      )
      twins.push(...rows)
      await pause(5)
    }
  }

  await Promise.all([look(), ...clients.map(({ mill }, writer) => write(mill, writer))])
  await until(async () => {
    const { ready, leases } = await places(t.sql, t.schema)
    return ready + leases === 0
  })
  expect(twins).toEqual([])
  expect(asked).toBeGreaterThan(100)
  expect(done).toBe(asked)
  await assertOnePlace(t.sql, t.schema)
  await assertRunsRecordedOnce(t.sql, t.schema)
  await Promise.all(clients.map((client) => client.close()))
})

test('D4: 10 writers ask for 10 keys in bulk, each in an order of its own: no ask fails, one job a key', async () => {
  await using t = await setup()
  const clients = await Promise.all(Array.from({ length: 10 }, () => setup({ schema: t.schema })))
  const rounds = 3
  const answers = await Promise.all(
    clients.map(async ({ mill }, writer) => {
      const ids: string[] = []
      for (let round = 0; round < rounds; round += 1) {
        const keys = Array.from({ length: KEYS }, (_, key) => ((key + 1) * (writer + 1)) % 11)
        const asks = keys.map((key) => ({ key, sum: 1 }))
        for (const { id } of await mill.enqueueMany(tick, asks)) ids.push(id)
      }
      return ids
    }),
  )
  expect(new Set(answers.flat()).size).toBe(KEYS)
  const { rows } = await t.sql.query<{ sum: number }>(
    `select (payload ->> 'sum')::int as sum from jobs join ready on id = job_id`,
  )
  expect(rows.map(({ sum }) => sum)).toEqual(Array(KEYS).fill(10 * rounds))
  await Promise.all(clients.map((client) => client.close()))
})
