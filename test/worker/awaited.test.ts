import { expect, test } from 'vitest'
import { makeId } from '../../src/core/id.ts'
import { manualClock } from '../../src/core/manual-clock.ts'
import type { Lane } from '../../src/database/executor.ts'
import { awaited } from '../../src/worker/awaited.ts'
import type { Awaited } from '../../src/worker/awaited.ts'
import { executorOn } from '../support/executor.ts'
import { manualSetup, NOON } from '../support/mill.ts'

const HOUR = 3_600_000

/** What the lane was asked to announce. */
function hearing(lane: Lane): {
  readonly waits: Awaited
  readonly said: string[]
  readonly clock: ReturnType<typeof manualClock>
} {
  const clock = manualClock(NOON)
  const said: string[] = []
  const heard: Lane = {
    ...lane,
    run(statement, params) {
      said.push(String(params['ids']))
      return lane.run(statement, params)
    },
  }
  const waits = awaited({
    clock,
    lane: () => heard,
    onFailure: (error) => {
      throw error
    },
  })
  return { waits, said, clock }
}

test('H1: only ends that somebody waits for are told, those of one moment in one statement', async () => {
  await using t = await manualSetup()
  await using statements = await executorOn(t)
  const { waits, said } = hearing(statements.lane('announce'))
  const [first, second, third] = [makeId(NOON), makeId(NOON), makeId(NOON)]
  waits.hear({ type: 'wait', id: first })
  waits.hear({ type: 'wait', id: second })
  waits.hear({ type: 'wait', id: 'no id, "}' })
  waits.settled(first)
  waits.settled(third)
  waits.settled(second)
  waits.settled('no id, "}')
  await waits.idle()
  expect(said).toEqual([`{${first},${second}}`])
})

test('H1: the newest 10 000 are remembered, for an hour', async () => {
  await using t = await manualSetup()
  await using statements = await executorOn(t)
  const { waits, said, clock } = hearing(statements.lane('announce'))
  const ids = Array.from({ length: 10_001 }, () => makeId(NOON))
  for (const id of ids) waits.hear({ type: 'wait', id })
  const [oldest = '', second = ''] = ids
  waits.settled(oldest)
  await waits.idle()
  expect(said).toEqual([])
  waits.settled(second)
  await waits.idle()
  expect(said).toEqual([`{${second}}`])
  clock.advance(HOUR + 1)
  waits.settled(ids.at(-1) ?? '')
  await waits.idle()
  expect(said).toHaveLength(1)
})
