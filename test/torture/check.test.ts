import { expect, test } from 'vitest'
import { violationsOf } from './check.ts'
import type { Evidence, Execution, Interruption, RunRecord, TortureJob } from './evidence.ts'

// Each test plants one fault in evidence that is sound; the checker must find it, and say which job.

const LIMIT = 3

const job: TortureJob = {
  id: 'J1',
  number: 1,
  ends: 'completed',
  failures: 0,
  places: ['finished'],
}

function record(changes: Partial<RunRecord> = {}): RunRecord {
  return {
    job: 'J1',
    run: 1,
    outcome: 'completed',
    reason: null,
    failures: 0,
    worker: 'A',
    recoveredBy: null,
    startedAt: 1_000,
    at: 2_000,
    dueAt: null,
    ...changes,
  }
}

function execution(changes: Partial<Execution> = {}): Execution {
  return {
    job: 'J1',
    run: 1,
    worker: 'A',
    beganAt: 1_010,
    toldAt: null,
    endedAt: 1_990,
    ...changes,
  }
}

const killed: Interruption = {
  what: 'kill',
  worker: 'A',
  from: 1_500,
  to: Number.POSITIVE_INFINITY,
}

/** One job, run once by A. */
function sound(changes: Partial<Evidence> = {}): Evidence {
  return {
    asks: [{ number: 1, id: 'J1', expected: 'there' }],
    jobs: [job],
    records: [record()],
    executions: [execution()],
    interruptions: [],
    failureLimit: LIMIT,
    ...changes,
  }
}

const lost = record({
  outcome: 'stale-recovered',
  failures: 1,
  recoveredBy: 'B',
  startedAt: 1_000,
  at: 6_000,
})

/** One job, taken from A that was killed, and run again by B. */
function recovered(changes: Partial<Evidence> = {}): Evidence {
  return sound({
    records: [lost, record({ run: 2, worker: 'B', failures: 1, startedAt: 6_100, at: 6_300 })],
    executions: [
      execution({ endedAt: null }),
      execution({ run: 2, worker: 'B', beganAt: 6_110, endedAt: 6_290 }),
    ],
    interruptions: [killed],
    ...changes,
  })
}

test('sound evidence has no violations', () => {
  expect(violationsOf(sound())).toEqual([])
  expect(violationsOf(recovered())).toEqual([])
})

test('an answered ask without its job is found', () => {
  const asks = [...sound().asks, { number: 2, id: 'J2', expected: 'there' as const }]
  expect(violationsOf(sound({ asks }))).toEqual([expect.stringContaining('ask 2 was answered')])
})

test('a committed ask of unknown answer needs a job, whatever its id', () => {
  const asks = [{ number: 1, id: null, expected: 'there' as const }]
  expect(violationsOf(sound({ asks }))).toEqual([])
  expect(violationsOf(sound({ asks, jobs: [], records: [], executions: [] }))).toHaveLength(1)
})

test('a job of a rolled back ask is found', () => {
  const asks = [{ number: 1, id: null, expected: 'absent' as const }]
  expect(violationsOf(sound({ asks }))).toEqual([expect.stringContaining('was rolled back')])
})

test('an ask that made two jobs is found', () => {
  const evidence = sound({
    jobs: [job, { ...job, id: 'J2' }],
    records: [record(), record({ job: 'J2' })],
    executions: [execution(), execution({ job: 'J2' })],
  })
  expect(violationsOf(evidence)).toEqual(['ask 1 made 2 jobs'])
})

test('a job nobody asked for is found, unless a producer was killed', () => {
  expect(violationsOf(sound({ asks: [] }))).toEqual([expect.stringContaining('nobody asked')])
  const interruptions = [{ ...killed, what: 'kill-producer' as const }]
  expect(violationsOf(sound({ asks: [], interruptions }))).toEqual([])
})

test.each([
  ['nowhere', []],
  ['still waiting', ['ready']],
  ['still running', ['leases']],
  ['in two places', ['ready', 'finished']],
])('a job %s is found', (_where, places) => {
  expect(violationsOf(sound({ jobs: [{ ...job, places }] }))).toEqual([
    expect.stringContaining('did not end in one place'),
  ])
})

test('a job without a record of its run is found', () => {
  expect(violationsOf(sound({ records: [], executions: [] }))).toContainEqual(
    expect.stringContaining('has records of the runs none'),
  )
})

test('a run recorded twice is found', () => {
  const records = [record({ outcome: 'retried', failures: 1 }), record({ failures: 1 })]
  expect(violationsOf(sound({ records }))).toContainEqual(
    expect.stringContaining('has records of the runs 1, 1'),
  )
})

test('a run number that was skipped is found', () => {
  const evidence = recovered({
    records: [lost, record({ run: 3, worker: 'B', failures: 1, startedAt: 6_100, at: 6_300 })],
    executions: [
      execution({ endedAt: null }),
      execution({ run: 3, worker: 'B', beganAt: 6_110, endedAt: 6_290 }),
    ],
  })
  expect(violationsOf(evidence)).toEqual([expect.stringContaining('has records of the runs 1, 3')])
})

test('a job that ended twice is found', () => {
  const again = record({ run: 2, startedAt: 2_100, at: 2_200 })
  const executions = [execution(), execution({ run: 2, beganAt: 2_110, endedAt: 2_190 })]
  expect(violationsOf(sound({ records: [record(), again], executions }))).toEqual([
    expect.stringContaining('went completed, completed'),
  ])
})

test('a run that was executed twice is found', () => {
  const executions = [execution(), execution({ worker: 'B' })]
  expect(violationsOf(sound({ executions }))).toContainEqual(
    expect.stringContaining('was executed 2 times'),
  )
})

test('a run executed by another worker than recorded is found', () => {
  expect(violationsOf(sound({ executions: [execution({ worker: 'B' })] }))).toEqual([
    expect.stringContaining('is recorded of A, executed by B'),
  ])
})

test('a run that was recorded and never executed is found', () => {
  expect(violationsOf(sound({ executions: [] }))).toEqual([
    expect.stringContaining('was never executed'),
  ])
})

test('a completed run whose handler did not end is found', () => {
  expect(violationsOf(sound({ executions: [execution({ endedAt: null })] }))).toEqual([
    expect.stringContaining('its handler did not end'),
  ])
})

test('an execution without a record is found', () => {
  const executions = [execution(), execution({ run: 2, beganAt: 2_100, endedAt: 2_200 })]
  expect(violationsOf(sound({ executions }))).toEqual([
    expect.stringContaining('was executed and not recorded'),
  ])
})

test('a release that was never executed needs an interruption that lost its claim', () => {
  const released = record({ outcome: 'released', at: 1_100 })
  const records = [released, record({ run: 2, startedAt: 1_200 })]
  const executions = [execution({ run: 2, beganAt: 1_210 })]
  expect(violationsOf(sound({ records, executions }))).toEqual([
    expect.stringContaining('was never executed'),
  ])
  const cut: Interruption = { what: 'disconnect', worker: null, from: 1_000, to: 1_010 }
  expect(violationsOf(sound({ records, executions, interruptions: [cut] }))).toEqual([])
})

test('a run taken from a worker that was well is found', () => {
  expect(violationsOf(recovered({ interruptions: [] }))).toContainEqual(
    expect.stringContaining('which was well'),
  )
  const other = { ...killed, worker: 'C' }
  expect(violationsOf(recovered({ interruptions: [other] }))).toContainEqual(
    expect.stringContaining('which was well'),
  )
})

test('a worker that was frozen and thawed before the run began explains nothing', () => {
  const before: Interruption = { what: 'freeze', worker: 'A', from: 100, to: 500 }
  expect(violationsOf(recovered({ interruptions: [before] }))).toContainEqual(
    expect.stringContaining('which was well'),
  )
})

test('a run that began before the one before it was over is found', () => {
  const early = record({ run: 2, worker: 'B', failures: 1, startedAt: 5_000, at: 6_300 })
  expect(violationsOf(recovered({ records: [lost, early] }))).toEqual([
    'run 2 of job J1 began 1000 ms before the end of the one before',
  ])
})

test('two executions at once while the first held its lease are found', () => {
  const records = [
    record({ outcome: 'retried', failures: 1 }),
    record({ run: 2, worker: 'B', failures: 1, startedAt: 2_100, at: 2_300 }),
  ]
  const executions = [
    execution({ endedAt: 2_200 }),
    execution({ run: 2, worker: 'B', beganAt: 2_110, endedAt: 2_290 }),
  ]
  expect(violationsOf(sound({ records, executions }))).toEqual([
    expect.stringContaining('began while the run before still held its lease'),
  ])
})

test('a run that went on without being told that its lease was over is found, unless it could not hear', () => {
  const crash: Interruption = { what: 'crash', worker: null, from: 1_500, to: 5_000 }
  const second = execution({ run: 2, worker: 'B', beganAt: 6_110, endedAt: 6_290 })
  const goesOn = (toldAt: number | null): readonly Execution[] => [
    execution({ toldAt, endedAt: 9_000 }),
    second,
  ]
  const told = { executions: goesOn(5_900), interruptions: [crash] }
  expect(violationsOf(recovered(told))).toEqual([])
  const untold = { executions: goesOn(null), interruptions: [crash] }
  expect(violationsOf(recovered(untold))).toEqual([
    expect.stringContaining('was not told that it lost its lease'),
  ])
  const frozen: Interruption = { what: 'freeze', worker: 'A', from: 1_500, to: 8_000 }
  expect(violationsOf(recovered({ ...untold, interruptions: [frozen] }))).toEqual([])
})

test('a job that ended otherwise than its task says is found', () => {
  const gaveUp = record({ outcome: 'dead', reason: 'gave-up', failures: 1 })
  expect(violationsOf(sound({ records: [gaveUp] }))).toEqual([
    expect.stringContaining('ended gave-up'),
  ])
  const failing = { ...job, ends: 'failed' as const }
  expect(violationsOf(sound({ jobs: [failing] }))).toEqual([
    expect.stringContaining('ended completed'),
  ])
})

test('a job that is dead before its limit is found', () => {
  const dead = record({ outcome: 'dead', reason: 'failed', failures: 1 })
  expect(violationsOf(sound({ jobs: [{ ...job, ends: 'failed' }], records: [dead] }))).toEqual([
    expect.stringContaining('ended failed after 1 failures'),
  ])
})

test('failures that were not counted are found', () => {
  const [first = lost, second = lost] = recovered().records
  expect(violationsOf(recovered({ records: [first, { ...second, failures: 0 }] }))).toEqual([
    expect.stringContaining('counts 0 failures, its records tell of 1'),
  ])
})

test('a job that completed before it failed as often as planned is found', () => {
  expect(violationsOf(sound({ jobs: [{ ...job, failures: 1 }] }))).toEqual([
    expect.stringContaining('its task plans 1'),
  ])
})
