import { expect, test } from 'vitest'
import { defineJob, typed } from '../../src/index.ts'
import { insertLease } from '../support/leases.ts'
import { manualSetup, NOON, places } from '../support/mill.ts'
import { until } from '../support/until.ts'
import { watchStatements } from '../support/statements.ts'

const visit = defineJob('visit', { input: typed<string>(), lease: '15s' })

test('L3, replay 6: an idle worker takes a job over as soon as the lease of its kind has lapsed', async () => {
  await using bench = await manualSetup()
  const { mill, sql, schema, clock } = bench
  using statements = watchStatements(schema)
  const worker = mill.worker().handle(visit, () => undefined)
  await worker.start()
  await until(() => statements.count('lapsed_leases') === 1)
  await insertLease(sql, { kind: 'visit', endsAt: NOON + 16_000 })
  for (let second = 0; second < 18; second += 1) {
    clock.advance(1_000)
    // A look that this second brought comes before this one's answer, or after the next.
    await places(sql, schema)
  }
  // A little more each time: what was about to wait from the last second on still does.
  await until(async () => {
    clock.advance(20)
    return (await places(sql, schema)).leases === 0
  })
  // Long before the look that comes without a kind whose leases are short.
  expect(clock.now()).toBeLessThan(NOON + 28_000)
  expect(await places(sql, schema)).toMatchObject({ ready: 1 })
  await worker.stop()
})
