import assert from 'node:assert/strict'
import { defineJob, typed } from 'millrace'
import type { Mill } from 'millrace'
import { collect } from '../support/collect.ts'
import { ended } from './ended.ts'
import { shortly } from './shortly.ts'

const tick = defineJob('tick', { input: typed<string>() })

/** Registered, fired at its boundaries, run by hand, paused, removed. */
export async function schedulesLive(mill: Mill): Promise<void> {
  const begun = Date.now()
  const worker = mill.worker().handle(tick, () => undefined)
  await worker.start()
  try {
    const timing = { kind: tick, input: 'tock' }
    const { nextFireAt } = await mill.schedule('often', { ...timing, every: '400ms' })
    assert.ok(nextFireAt !== null && Math.abs(nextFireAt.getTime() - begun) < 60_000)
    await mill.schedule('daily', { ...timing, cron: '30 2 * * *', timezone: 'Europe/Berlin' })
    const boundaries = await shortly('it fired twice', async () => {
      const jobs = await collect(mill.jobs.list({ schedule: 'often', state: 'completed' }))
      assert.ok(jobs.length >= 2)
      return jobs.map((job) => job.schedule?.boundary.getTime() ?? 0)
    })
    assert.equal(new Set(boundaries).size, boundaries.length)
    assert.ok(boundaries.every((each) => (each - (nextFireAt?.getTime() ?? 0)) % 400 === 0))
    await mill.schedules.pause('often')
    const { id } = await mill.schedules.runNow('daily')
    assert.equal((await ended(mill, tick, id)).state, 'completed')
    const [first, second] = await mill.schedules.next('daily', 2)
    assert.ok(Number(second) - Number(first) >= 23 * 3_600_000)
    await mill.schedules.resume('often')
    assert.ok(await mill.schedules.remove('often'))
    const left = await mill.schedules.list()
    assert.deepEqual(
      left.map(({ name, timezone }) => [name, timezone]),
      [['daily', 'Europe/Berlin']],
    )
  } finally {
    await worker.stop()
  }
}
