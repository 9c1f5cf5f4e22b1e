import { expect, test } from 'vitest'
import { instantText } from '../../src/core/instant-text.ts'
import { defineJob, typed } from '../../src/index.ts'
import type { Priority } from '../../src/index.ts'
import { claimJobsWithinCaps } from '../../src/worker/claim-statements.ts'
import { marks } from '../../src/worker/marks.ts'
import { inOrder, lanesOf, planClaim, recordWalk } from '../../src/worker/probes.ts'
import type { ProbeSpace, Room } from '../../src/worker/probes.ts'
import { executorOn } from '../support/executor.ts'
import { manualSetup, NOON } from '../support/mill.ts'
import type { ManualSetup } from '../support/mill.ts'

const light = defineJob('light', { input: typed<string>() })
const heavy = defineJob('heavy', { input: typed<string>() })

// What is due that long is no longer near the mark of a walk that found nothing.
const LATER = NOON + 10_000

/** A worker's claims, one by one: `two` has room for one run, `heavy` for one in all. */
async function claims(
  bench: ManualSetup,
): Promise<AsyncDisposable & { claim(room: Room, most: number): Promise<readonly string[]> }> {
  const here = await executorOn(bench)
  const known = marks()
  const space: ProbeSpace = {
    queues: ['two', 'one'],
    queueCaps: new Map([['two', 1]]),
    lanes: lanesOf([
      { name: 'light', concurrency: null },
      { name: 'heavy', concurrency: 1 },
    ]),
  }
  async function claim(slots: Room, most: number): Promise<readonly string[]> {
    const plan = planClaim(space, { slots, marks: known, turn: 0, most })
    const rows = await here.lane('claim').run(claimJobsWithinCaps, {
      probes: JSON.stringify(plan.rows),
      most,
      worker: 'me',
      now: instantText(LATER),
    })
    const jobs = inOrder(rows, plan)
    recordWalk(plan, jobs, { space, marks: known, now: LATER, most })
    return jobs.map(({ payload }) => String(payload).replaceAll('"', ''))
  }
  return { claim, [Symbol.asyncDispose]: here.close }
}

function room({ two, heavy: ofHeavy }: { two: number; heavy: number }): Room {
  return {
    freeOfQueue: (queue) => (queue === 'two' ? two : 3),
    freeOfKind: (kind) => (kind === 'heavy' ? ofHeavy : 3),
  }
}

async function fill(
  { mill }: ManualSetup,
  jobs: readonly (readonly [kind: typeof light | typeof heavy, queue: string, Priority])[],
): Promise<void> {
  for (const [kind, queue, priority] of jobs) {
    await mill.enqueue(kind, `${queue}/${priority}`, {
      queue,
      priority,
      at: new Date(NOON - 1_000),
    })
  }
}

test('C4: what a queue gives up at its cap takes no slot from another queue', async () => {
  await using bench = await manualSetup()
  await using worker = await claims(bench)
  await fill(bench, [
    [light, 'two', 2],
    [light, 'two', 5],
    [light, 'one', 5],
    [light, 'one', 8],
  ])
  expect(await worker.claim(room({ two: 1, heavy: 1 }), 3)).toEqual(['two/2', 'one/5', 'one/8'])
})

test('C4: a capped kind that a full queue gave up is found in another queue by the next claim', async () => {
  await using bench = await manualSetup()
  await using worker = await claims(bench)
  await fill(bench, [
    [light, 'two', 2],
    [heavy, 'two', 5],
    [heavy, 'one', 8],
  ])
  expect(await worker.claim(room({ two: 1, heavy: 1 }), 3)).toEqual(['two/2'])
  expect(await worker.claim(room({ two: 0, heavy: 1 }), 2)).toEqual(['one/8'])
})
