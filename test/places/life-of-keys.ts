import assert from 'node:assert/strict'
import { setTimeout as pause } from 'node:timers/promises'
import { defineJob, typed } from 'millrace'
import type { Mill } from 'millrace'
import { gate } from '../support/gate.ts'
import type { Gate } from '../support/gate.ts'
import { ended } from './ended.ts'
import { shortly } from './shortly.ts'
import type { Place } from './place.ts'

const live = defineJob('live', { dedup: { key: 'k', scope: 'live', rerun: true } })
const seldom = defineJob('seldom', {
  input: typed<number>(),
  dedup: { key: 'k', throttle: '1h' },
})
const quiet = defineJob('quiet', {
  input: typed<number>(),
  dedup: { key: 'k', debounce: '4s' },
})
// Its workers look for lapsed leases as often as its lease is long.
const lost = defineJob('lost', {
  lease: '1s',
  retry: { backoff: { type: 'fixed', base: 1, jitter: 0 } },
})
const stale = defineJob('stale', { expires: '50ms' })
const foreign = defineJob('foreign', { input: typed<{ text: string }>() })

/** Keys of every sort, a run whose worker is gone, a job that expires, one that SQL asked for. */
export async function keysLive(mill: Mill, place: Place): Promise<void> {
  const runs: string[] = []
  using first = gate()
  const { id: expired } = await mill.enqueue(stale)
  const { id: abandoned } = await mill.enqueue(lost)
  const [handle] = await mill.claim({ kinds: [lost], lease: '200ms' })
  assert.equal(handle?.id, abandoned)
  const worker = mill
    .worker()
    .handle(live, async () => {
      runs.push('live')
      await first.enter('live')
    })
    .handle(seldom, (n) => void runs.push(`seldom ${n}`))
    .handle(quiet, (n) => void runs.push(`quiet ${n}`))
    .handle(lost, () => undefined)
    .handle(stale, () => undefined)
    .handle(foreign, ({ text }) => void runs.push(text))
  await pause(60)
  await worker.start()
  try {
    await Promise.all([
      again(mill, runs, first),
      once(mill, runs),
      recovered(mill, abandoned),
      asked(place, runs),
    ])
    const end = await ended(mill, stale, expired)
    assert.ok(end.state === 'dead' && end.reason === 'expired')
  } finally {
    await worker.stop()
  }
}

/** Asked for while it runs: it runs once more, and once only. */
async function again(mill: Mill, runs: readonly string[], first: Gate): Promise<void> {
  const { id } = await mill.enqueue(live)
  await shortly('it runs', async () => assert.equal((await mill.jobs.get(id))?.state, 'running'))
  const second = await mill.enqueue(live)
  const third = await mill.enqueue(live)
  assert.equal(second.id, third.id)
  assert.notEqual(second.id, id)
  first.open()
  await ended(mill, live, second.id)
  assert.equal(runs.filter((each) => each === 'live').length, 2)
}

async function once(mill: Mill, runs: readonly string[]): Promise<void> {
  const [first] = await Promise.all([1, 2, 3].map((n) => mill.enqueue(quiet, n)))
  const { id } = await mill.enqueue(seldom, 1)
  const kept = await mill.enqueue(seldom, 2)
  assert.deepEqual([kept.id, kept.outcome], [id, 'kept'])
  await ended(mill, quiet, first?.id ?? '')
  await ended(mill, seldom, id)
  assert.deepEqual(runs.filter((each) => /quiet|seldom/.test(each)).toSorted(), [
    'quiet 3',
    'seldom 1',
  ])
}

/** Its lease ended, and nobody said why. */
async function recovered(mill: Mill, id: string): Promise<void> {
  const end = await ended(mill, lost, id)
  assert.deepEqual([end.state, end.run, end.failures], ['completed', 2, 1])
}

/** By the function for triggers, and seen in the view for people. */
async function asked({ look, table }: Place, runs: readonly string[]): Promise<void> {
  if (look === null) return
  await look(`select ${table('enqueue')}('foreign', '{"text":"by SQL"}') as id`)
  await shortly('it ran', () => assert.ok(runs.includes('by SQL')))
  await shortly('it is completed', async () => {
    const rows = await look(`select state from ${table('all_jobs')} where kind = 'foreign'`)
    assert.deepEqual(rows, [{ state: 'completed' }])
  })
}
