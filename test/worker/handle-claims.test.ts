import { expect, test } from 'vitest'
import { makeId } from '../../src/core/id.ts'
import { defineJob, typed } from '../../src/index.ts'
import { collect } from '../support/collect.ts'
import {
  assertOnePlace,
  assertRunsRecordedOnce,
  databaseOfFile,
  manualSetup,
  places,
  setup,
} from '../support/mill.ts'
import { proxyTo } from '../support/proxy.ts'

const charge = defineJob('charge', { input: typed<{ cents: number }>() })
const ping = defineJob('ping')

test('L4: the lease of a claim does not become that of the job', async () => {
  await using t = await manualSetup()
  const { mill, clock } = t
  await mill.enqueue(ping, undefined, { lease: '30s' })
  const [short] = await mill.claim({ kinds: [ping], lease: '1s' })
  await short?.release()
  // Each claim has an instant of its own.
  clock.advance(10)
  const [own] = await mill.claim({ kinds: [ping] })
  expect(own?.leaseEndsAt).toEqual(new Date(clock.now() + 30_000))
})

test('L4: two clients that claim at once never get the same job', async () => {
  await using t = await setup()
  await using other = await setup({ schema: t.schema })
  await t.mill.enqueueMany(ping, Array.from({ length: 200 }))
  const clients = [t.mill, other.mill, t.mill, other.mill]
  const claimed = await Promise.all(clients.map((mill) => mill.claim({ kinds: [ping], limit: 50 })))
  const ids = claimed.flat().map(({ id }) => id)
  expect(new Set(ids).size).toBe(ids.length)
  await Promise.all(claimed.flat().map((handle) => handle.complete()))
  expect((await places(t.sql, t.schema)).finished).toBe(ids.length)
})

test('race 7: a handle claim that committed and whose answer was lost comes back without a failure', async () => {
  await using proxy = await proxyTo(await databaseOfFile())
  await using t = await setup({ database: proxy.url })
  const { mill, sql, schema } = t
  const { id } = await mill.enqueue(ping, undefined, { retry: { failures: 1 } })
  const lost = proxy.loseAnswer('claim_handles')
  const claimed = mill.claim({ kinds: [ping] })
  await lost
  const [handle] = await claimed
  expect(handle).toMatchObject({ id, run: 2, failures: 0 })
  expect(await handle?.complete()).toBe(true)
  const journal = await collect(mill.jobs.journal(id))
  expect(journal.map(({ outcome }) => outcome)).toEqual(['released', 'completed'])
  await assertOnePlace(sql, schema)
  await assertRunsRecordedOnce(sql, schema)
})

test('race 15: a settlement whose answer was lost applied, once, strict or not', async () => {
  for (const strict of [false, true]) {
    await using proxy = await proxyTo(await databaseOfFile())
    await using t = await setup({ database: proxy.url })
    await t.mill.enqueue(ping)
    const [handle] = await t.mill.claim({ kinds: [ping], strict })
    // A strict settlement is a transaction: what is lost is the answer of its commit.
    const lost = proxy.loseAnswer(strict ? 'commit\0' : 'complete_alike_runs')
    const completed = handle?.complete()
    await lost
    expect(await completed).toBe(true)
    await assertRunsRecordedOnce(t.sql, t.schema)
  }
})

test('L4: jobs come by level and due time, and the queues take turns', async () => {
  await using t = await setup()
  const { mill } = t
  await mill.enqueue(charge, { cents: 1 }, { priority: 'low', queue: 'a' })
  await mill.enqueue(charge, { cents: 2 }, { priority: 'high', queue: 'a' })
  await mill.enqueue(charge, { cents: 3 }, { queue: 'b' })
  const taken: number[] = []
  for (let count = 0; count < 3; count += 1) {
    const [handle] = await mill.claim({ kinds: [charge], queues: ['a', 'b'] })
    taken.push(handle?.input.cents ?? 0)
  }
  expect(taken).toEqual([2, 3, 1])
})

test('L4, C5: a paused queue gives no handles', async () => {
  await using t = await setup()
  const { mill } = t
  await mill.enqueue(ping)
  await mill.queues.pause('default')
  expect(await mill.claim({ kinds: [ping] })).toEqual([])
  await mill.queues.resume('default')
  expect(await mill.claim({ kinds: [ping] })).toHaveLength(1)
})

test('L4: a job that cannot be read ends dead and gives no handle', async () => {
  await using t = await setup()
  const { mill, sql } = t
  const id = makeId(1)
  await sql.query(
    `insert into ready (job_id, queue, kind, due_at, lease_ms, run, failures, priority)
     values ($1, 'default', 'ping', now() - interval '1 minute', 60000, 0, 0, 5)`,
    [id],
  )
  await mill.enqueue(ping)
  const handles = await mill.claim({ kinds: [ping], limit: 5 })
  expect(handles).toHaveLength(1)
  const { rows } = await sql.query('select state, reason from finished where job_id = $1', [id])
  expect(rows).toEqual([{ state: 'dead', reason: 'undecodable' }])
})

test('§12: a limit of nothing gives nothing, and what is out of range is an error before any I/O', async () => {
  await using t = await setup()
  const { mill } = t
  await mill.enqueue(ping)
  expect(await mill.claim({ kinds: [ping], limit: 0 })).toEqual([])
  expect(await mill.claim({ kinds: [ping], limit: -3 })).toEqual([])
  const refused: readonly (readonly [object, string])[] = [
    [{ kinds: [ping], limit: 501 }, '"limit" got 501'],
    [{ kinds: [ping], limit: 1.5 }, '"limit" got 1.5'],
    [{ kinds: [] }, 'name at least one kind'],
    [{ kinds: [ping, ping] }, 'kind "ping" is there twice'],
    [{ kinds: ['ping'] }, 'it is not a kind of job'],
    [{ kinds: [ping], queues: [] }, 'name at least one queue'],
    [{ kinds: [ping], queues: 'default' }, '"queues" got "default"'],
    [{ kinds: [ping], lease: 0 }, '"lease" got 0'],
    [{ kinds: [ping], lease: '30d' }, 'at most 24 days'],
    [{ kinds: [ping], strict: 1 }, '"strict" got 1'],
    [{ kinds: [ping], limits: 1 }, 'Did you mean limit?'],
  ]
  for (const [options, message] of refused) {
    // @ts-expect-error -- from JavaScript anything may come
    await expect(mill.claim(options)).rejects.toThrow(message)
  }
  const [handle] = await mill.claim({ kinds: [ping] })
  await expect(handle?.pause({ for: '-1s' })).rejects.toThrow('"for" got "-1s"')
  // @ts-expect-error -- a word of elsewhere
  await expect(handle?.retry({ after: '1s' })).rejects.toThrow('retry() has no such option')
  expect(await handle?.release()).toBe(true)
})
