import { expect, test } from 'vitest'
import { manualClock } from '../../src/core/manual-clock.ts'
import { defineJob, GiveUp, typed } from '../../src/index.ts'
import type { CarryOf, Run } from '../../src/index.ts'
import type { ClaimedRow } from '../../src/worker/claim-statements.ts'
import { makeRun } from '../../src/worker/execute.ts'
import { handledKind } from '../../src/worker/handlers.ts'
import type { RunServices } from '../../src/worker/run-for.ts'
import { collect } from '../support/collect.ts'
import { gate } from '../support/gate.ts'
import { assertRunsRecordedOnce, manualSetup, NOON } from '../support/mill.ts'
import type { ManualSetup } from '../support/mill.ts'
import { until } from '../support/until.ts'

const walk = defineJob('walk', {
  input: typed<string>(),
  carry: { page: 0, seen: typedList() },
  retry: { failures: 4, backoff: { type: 'fixed', base: '1s', jitter: 0 } },
})

function typedList(): string[] {
  return []
}

type Walk = Run<typeof walk>

/** One job whose n-th run is the n-th of these; ends when each has had its turn. */
async function runInTurn(
  bench: ManualSetup,
  turns: readonly ((run: Walk) => unknown)[],
): Promise<{ readonly id: string; readonly carries: readonly CarryOf<typeof walk>[] }> {
  const { mill, clock, sql, schema } = bench
  const carries: CarryOf<typeof walk>[] = []
  const worker = mill.worker().handle(walk, (_input, run) => {
    carries.push(structuredClone(run.carry))
    return turns[run.number - 1]?.(run)
  })
  const { id } = await mill.enqueue(walk, 'x')
  await worker.start()
  for (let done = 1; done <= turns.length; done += 1) {
    await until(async () => (await sql.query('select from timeline')).rows.length === done)
    clock.advance(1_000)
  }
  await worker.stop()
  await assertRunsRecordedOnce(sql, schema)
  return { id, carries }
}

test('§5: a pause and a failure keep the carry as it was assigned, a return leaves it as it was before', async () => {
  await using bench = await manualSetup()
  const { id, carries } = await runInTurn(bench, [
    (run) => {
      run.carry.page = 1
      return run.pause({ for: '1s' })
    },
    (run) => {
      run.carry = { page: 2, seen: ['b'] }
      throw new Error('half way')
    },
    (run) => {
      run.carry.page = 3
    },
  ])
  expect(carries).toEqual([
    { page: 0, seen: [] },
    { page: 1, seen: [] },
    { page: 2, seen: ['b'] },
  ])
  const job = await bench.mill.jobs.get(walk, id)
  expect(job).toMatchObject({ state: 'completed', carry: { page: 2, seen: ['b'] } })
})

test('§5: a run that dies, gives up or is cancelled leaves the carry as it was before', async () => {
  await using bench = await manualSetup()
  const { id } = await runInTurn(bench, [
    (run) => {
      run.carry.page = 1
      return run.pause({ for: '1s' })
    },
    (run) => {
      run.carry.page = 2
      throw new GiveUp('no further')
    },
  ])
  expect(await bench.mill.jobs.get(id)).toMatchObject({ state: 'dead', carry: { page: 1 } })

  const worker = bench.mill.worker().handle(walk, async (_input, run) => {
    await bench.mill.jobs.cancel(run.id)
    run.carry.page = 9
    return run.pause({ for: '1s' })
  })
  const cancelled = await bench.mill.enqueue(walk, 'y')
  await worker.start()
  await until(async () => (await bench.mill.jobs.get(cancelled.id))?.state === 'cancelled')
  expect(await bench.mill.jobs.get(cancelled.id)).toMatchObject({ carry: null })
})

test('§5: a run that is released at shutdown leaves the carry as it was before', async () => {
  await using bench = await manualSetup()
  const { mill } = bench
  const worker = mill.worker().handle(walk, async (_input, run) => {
    run.carry.page = 5
    await new Promise((_resolve, reject) => {
      run.signal.addEventListener('abort', () => reject(run.signal.reason))
    })
  })
  const { id } = await mill.enqueue(walk, 'x')
  await worker.start()
  await until(async () => (await mill.jobs.get(id))?.state === 'running')
  await worker.stop()
  expect(await mill.jobs.get(id)).toMatchObject({ state: 'pending', failures: 0, carry: null })
})

test('L5: a run that is ended by its timeout keeps the carry as it stood then', async () => {
  await using bench = await manualSetup()
  const { mill, clock } = bench
  const slow = defineJob('slow', { carry: 0, timeout: '5s' })
  using runs = gate()
  const worker = mill.worker().handle(slow, async (_input, run) => {
    run.carry = 7
    await runs.enter('slow')
    run.carry = 8
  })
  const { id } = await mill.enqueue(slow)
  await worker.start()
  await until(() => runs.now === 1)
  clock.advance(5_000)
  await until(async () => (await mill.jobs.get(id))?.state === 'pending')
  expect(await mill.jobs.get(id)).toMatchObject({ failures: 1, carry: 7 })
  runs.open()
})

test('api trap 1: what a run does to its carry changes neither the kind nor a later job', async () => {
  await using bench = await manualSetup()
  const first = await runInTurn(bench, [push])
  await bench.sql.query('delete from finished')
  const second = await runInTurn(bench, [push])
  expect([first.carries, second.carries]).toEqual([
    [{ page: 0, seen: [] }],
    [{ page: 0, seen: [] }],
  ])
})

test('a carry that reads the same is not written', async () => {
  await using bench = await manualSetup()
  await runInTurn(bench, [
    (run) => {
      run.carry = { page: 0, seen: [] }
      return run.pause({ for: '1s' })
    },
    () => undefined,
  ])
  expect((await bench.sql.query('select from carries')).rows).toEqual([])
})

test('the text of a carry comes back as it was given: key order, U+0000, half a surrogate pair', async () => {
  await using bench = await manualSetup()
  const odd = { page: 1.5, seen: ['\u0000', '\ud800', '\\u0000', ''] }
  const { carries } = await runInTurn(bench, [
    (run) => {
      run.carry = odd
      return run.pause({ for: '1s' })
    },
    () => undefined,
  ])
  expect(carries[1]).toEqual(odd)
})

test('O3: a carry that cannot be stored fails the run with an error that says so, and the old one stays', async () => {
  await using bench = await manualSetup()
  const { id, carries } = await runInTurn(bench, [
    (run) => {
      run.carry.page = 1
      return run.pause({ for: '1s' })
    },
    (run) => {
      spoil(run)
      return run.pause({ for: '1s' })
    },
    (run) => {
      spoil(run)
      throw new RangeError('too far')
    },
    () => undefined,
  ])
  expect(carries.map(({ page }) => page)).toEqual([0, 1, 1, 1])
  const entries = await collect(bench.mill.jobs.journal(id))
  expect(entries).toMatchObject([
    { outcome: 'paused' },
    {
      outcome: 'retried',
      failures: 1,
      error: { message: expect.stringMatching(/^the carry cannot be stored: page: .*bigint/) },
    },
    {
      outcome: 'retried',
      failures: 2,
      error: { message: expect.stringMatching(/^too far; and the carry cannot be stored: page: /) },
    },
    { outcome: 'completed' },
  ])
})

test('the default may come from the input, and is asked for at each run that has nothing stored', async () => {
  await using bench = await manualSetup()
  const { mill, clock } = bench
  let isBroken = true
  const kind = defineJob('from-input', {
    input: typed<number>(),
    carry: (input) => {
      if (isBroken) throw new Error('not today')
      return { left: input }
    },
    retry: { backoff: { type: 'fixed', base: '1s', jitter: 0 } },
  })
  const seen: number[] = []
  const worker = mill.worker().handle(kind, (_input, run) => {
    seen.push(run.carry.left)
  })
  const { id } = await mill.enqueue(kind, 3)
  await worker.start()
  // A function that throws may be mended: the job is not dead.
  await until(async () => (await mill.jobs.get(id))?.failures === 1)
  isBroken = false
  clock.advance(1_000)
  await until(() => seen.length === 1)
  expect(seen).toEqual([3])
})

test('§5: a stored carry that cannot be read ends the job, dead, before its handler', async () => {
  let isCalled = false
  const handled = handledKind(walk, () => {
    isCalled = true
  })
  const row: ClaimedRow = {
    job_id: '01ARZ3NDEKTSV4RRFFQ69G5FAV',
    kind: 'walk',
    queue: 'default',
    priority: 5,
    run: 2,
    failures: 0,
    due_at: NOON,
    lease_ms: 60_000,
    lease_ends_at: NOON + 60_000,
    payload: '"x"',
    options: null,
    carry: '{"page":',
  }
  const end = await new Promise((resolve) => {
    void makeRun(row, handled, {
      clock: manualClock(NOON),
      services: noServices(),
      failures: null,
      onEnd: (_run, decided) => {
        resolve(decided)
      },
    }).begin()
  })
  expect(end).toMatchObject({
    type: 'fate',
    fate: { outcome: 'dead', reason: 'undecodable', error: expect.stringContaining('JSON') },
  })
  expect(isCalled).toBe(false)
})

function push(run: Walk): void {
  run.carry.seen.push('changed')
}

// A caller without types.
function spoil(run: Walk): void {
  Reflect.set(run.carry, 'page', 1n)
}

function noServices(): RunServices {
  return {
    now: none,
    history: none,
    saveCarry: none,
    progress: none,
    prepareAsk: none,
    transact: none,
    resultText: none,
  }
}

function none(): never {
  throw new Error('nothing is asked of the worker here')
}
