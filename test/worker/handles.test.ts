import { expect, test } from 'vitest'
import { defineJob, typed } from '../../src/index.ts'
import { collect } from '../support/collect.ts'
import {
  assertOnePlace,
  assertRunsRecordedOnce,
  manualSetup,
  places,
  setup,
} from '../support/mill.ts'
import { until } from '../support/until.ts'

const charge = defineJob('charge', {
  input: typed<{ cents: number }>(),
  result: typed<{ receipt: string }>(),
  carry: { tries: 0 },
  retry: { failures: 3, backoff: { type: 'fixed', base: '10s', jitter: 0 } },
})
const ping = defineJob('ping')

test('L4: a claimed job is its handle: what was asked, and completed with its result', async () => {
  await using t = await setup()
  const { mill, sql, schema } = t
  const { id } = await mill.enqueue(charge, { cents: 5 }, { queue: 'money' })
  expect(await mill.claim({ kinds: [charge] })).toEqual([])
  const [handle] = await mill.claim({ kinds: [charge], queues: ['money'] })
  expect(handle).toMatchObject({
    id,
    kind: 'charge',
    queue: 'money',
    input: { cents: 5 },
    run: 1,
    failures: 0,
    carry: { tries: 0 },
  })
  const running = await mill.jobs.get(charge, id)
  expect(running).toMatchObject({ state: 'running', leaseEndsAt: handle?.leaseEndsAt })
  expect(await handle?.complete({ receipt: 'r1' })).toBe(true)
  expect(await mill.jobs.get(charge, id)).toMatchObject({
    state: 'completed',
    result: { receipt: 'r1' },
  })
  await assertOnePlace(sql, schema)
  await assertRunsRecordedOnce(sql, schema)
})

test('L4: a verb decides once; those after it answer false and write nothing', async () => {
  await using t = await setup()
  const { mill, sql, schema } = t
  const { id } = await mill.enqueue(ping)
  const [handle] = await mill.claim({ kinds: [ping] })
  const answers = await Promise.all([handle?.complete(), handle?.release(), handle?.fail('no')])
  expect(answers).toEqual([true, false, false])
  expect(await handle?.heartbeat()).toBe(false)
  expect(await mill.jobs.get(id)).toMatchObject({ state: 'completed', failures: 0 })
  await assertRunsRecordedOnce(sql, schema)
})

test('L4: retry is a failure with the backoff of the job, or after a delay, dead at its limit', async () => {
  await using t = await manualSetup()
  const { mill, clock } = t
  const { id } = await mill.enqueue(charge, { cents: 1 })
  const [first] = await mill.claim({ kinds: [charge] })
  if (first === undefined) throw new Error('nothing was claimed')
  first.carry = { tries: 1 }
  expect(await first.retry({ error: new Error('busy') })).toBe(true)
  expect(await mill.jobs.get(charge, id)).toMatchObject({
    state: 'pending',
    waiting: 'retrying',
    failures: 1,
    dueAt: new Date(clock.now() + 10_000),
  })
  expect(await mill.claim({ kinds: [charge] })).toEqual([])
  clock.advance(10_000)
  const [second] = await mill.claim({ kinds: [charge] })
  expect(second).toMatchObject({ run: 2, failures: 1, carry: { tries: 1 } })
  expect(await second?.retry({ delay: '1s' })).toBe(true)
  clock.advance(1_000)
  const [third] = await mill.claim({ kinds: [charge] })
  expect(await third?.retry({ delay: '1s', error: new Error('again') })).toBe(true)
  expect(await mill.jobs.get(id)).toMatchObject({
    state: 'dead',
    reason: 'failed',
    failures: 3,
    error: { message: 'again' },
  })
})

test('L4: fail is dead at once, with what was said', async () => {
  await using t = await setup()
  const { id } = await t.mill.enqueue(charge, { cents: 1 })
  const [handle] = await t.mill.claim({ kinds: [charge] })
  expect(await handle?.fail(new TypeError('no such account'))).toBe(true)
  expect(await t.mill.jobs.get(id)).toMatchObject({
    state: 'dead',
    reason: 'gave-up',
    error: { name: 'TypeError', message: 'no such account' },
  })
})

test('L4: pause and release count no failure; a pause keeps the carry, a release the place', async () => {
  await using t = await manualSetup()
  const { mill, clock } = t
  const { id } = await mill.enqueue(charge, { cents: 1 })
  const due = (await mill.jobs.get(id))?.createdAt
  const [first] = await mill.claim({ kinds: [charge] })
  expect(await first?.release()).toBe(true)
  expect(await mill.jobs.get(id)).toMatchObject({ state: 'pending', failures: 0, dueAt: due })
  const [second] = await mill.claim({ kinds: [charge] })
  if (second === undefined) throw new Error('nothing was claimed')
  second.carry.tries = 7
  expect(await second.pause({ for: '5s' })).toBe(true)
  expect(await mill.jobs.get(charge, id)).toMatchObject({ waiting: 'paused', failures: 0 })
  clock.advance(5_000)
  const [third] = await mill.claim({ kinds: [charge] })
  expect(third).toMatchObject({ run: 3, carry: { tries: 7 } })
  const journal = await collect(mill.jobs.journal(id))
  expect(journal.map(({ outcome }) => outcome)).toEqual(['released', 'paused'])
})

test('L4: leaving the scope releases what is undecided, and nothing else', async () => {
  await using t = await setup()
  const { mill } = t
  const ids = [await mill.enqueue(ping), await mill.enqueue(ping)].map(({ id }) => id)
  {
    const [one, two] = await mill.claim({ kinds: [ping], limit: 2 })
    await using first = one ?? null
    await using second = two ?? null
    expect(second?.id).toBe(ids[1])
    await first?.complete()
  }
  expect(await mill.jobs.get(ids[0] ?? '')).toMatchObject({ state: 'completed' })
  expect(await mill.jobs.get(ids[1] ?? '')).toMatchObject({ state: 'pending', failures: 0, run: 1 })
})

test('L4: closing the client hands back what is undecided', async () => {
  await using t = await setup()
  await using other = await setup({ schema: t.schema })
  const { id } = await other.mill.enqueue(ping)
  await other.mill.claim({ kinds: [ping] })
  await other.mill.close()
  expect(await t.mill.jobs.get(id)).toMatchObject({ state: 'pending', failures: 0 })
  await assertRunsRecordedOnce(t.sql, t.schema)
})

test('L4: a heartbeat extends the lease; past its end it is refused, though nobody took the job', async () => {
  await using t = await manualSetup()
  const { mill, clock } = t
  await mill.enqueue(ping)
  const [handle] = await mill.claim({ kinds: [ping], lease: '10s' })
  const begun = clock.now()
  expect(handle?.leaseEndsAt).toEqual(new Date(begun + 10_000))
  clock.advance(9_000)
  expect(await handle?.heartbeat()).toBe(true)
  expect(handle?.leaseEndsAt).toEqual(new Date(begun + 19_000))
  // A shorter one never brings the end nearer.
  expect(await handle?.heartbeat('1s')).toBe(true)
  expect(handle?.leaseEndsAt).toEqual(new Date(begun + 19_000))
  clock.advance(10_000)
  expect(await handle?.heartbeat()).toBe(false)
})

test('L4, L2: a settlement past the end is accepted until somebody took the job', async () => {
  await using t = await manualSetup()
  const { mill, clock } = t
  const { id } = await mill.enqueue(ping)
  const [handle] = await mill.claim({ kinds: [ping], lease: '10s' })
  clock.advance(60_000)
  expect(await handle?.complete()).toBe(true)
  expect(await mill.jobs.get(id)).toMatchObject({ state: 'completed' })
})

test('L4: strict refuses every verb past the end of the lease', async () => {
  await using t = await manualSetup()
  const { mill, clock, sql, schema } = t
  for (let count = 0; count < 6; count += 1) await mill.enqueue(ping)
  const handles = await mill.claim({ kinds: [ping], lease: '10s', limit: 6, strict: true })
  const [a, b, c, d, e, f] = handles
  clock.advance(9_999)
  expect(await a?.complete()).toBe(true)
  clock.advance(1)
  const answers = [
    await b?.complete(),
    await c?.retry(),
    await d?.fail('no'),
    await e?.pause({ for: '1s' }),
    await f?.release(),
    await f?.heartbeat(),
  ]
  expect(answers).toEqual([false, false, false, false, false, false])
  expect(await places(sql, schema)).toEqual({ jobs: 6, ready: 0, leases: 5, finished: 1 })
})

test('L4, L3: a job whose handle was forgotten is recovered as a failure; its handle is told no', async () => {
  await using t = await setup()
  const { mill, sql, schema } = t
  const { id } = await mill.enqueue(ping, undefined, { retry: { failures: 5, backoff: 'fixed' } })
  const [handle] = await mill.claim({ kinds: [ping], lease: '100ms' })
  const worker = mill.worker({ queues: ['elsewhere'] }).handle(ping, () => undefined)
  await worker.start()
  await until(async () => (await mill.jobs.get(id))?.state === 'pending')
  expect(await handle?.complete()).toBe(false)
  const [entry] = await collect(mill.jobs.journal(id))
  expect(entry).toMatchObject({ outcome: 'stale-recovered', recoveredBy: worker.id, failures: 1 })
  await assertOnePlace(sql, schema)
})

test('L4: a result or carry that JSON cannot hold decides nothing', async () => {
  await using t = await setup()
  const { mill } = t
  const { id } = await mill.enqueue(charge, { cents: 1 })
  const [handle] = await mill.claim({ kinds: [charge] })
  if (handle === undefined) throw new Error('nothing was claimed')
  // @ts-expect-error -- JSON has no bigint
  await expect(handle.complete({ receipt: 1n })).rejects.toThrow('the result cannot be stored')
  expect(await mill.jobs.get(id)).toMatchObject({ state: 'running' })
  expect(await handle.complete({ receipt: 'now' })).toBe(true)
})
