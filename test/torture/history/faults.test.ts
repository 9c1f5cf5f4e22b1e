import { describe, expect, test } from 'vitest'
import type { Fact } from './fact.ts'
import { faultsOf } from './faults.ts'
import { soundHistory } from './sound.ts'
import { again, at, changed, moved, without } from './planted.ts'

// Each case plants one fault in a history that is sound; the checker must find it, and nothing else.

test('a sound history has no faults', () => {
  expect(faultsOf(soundHistory())).toEqual([])
})

test('it does not matter in which order the logs are read', () => {
  const facts = soundHistory()
  expect(faultsOf(facts.toReversed().toSorted((one, other) => one.at - other.at))).toEqual([])
})

describe('an acknowledged job ends exactly once or still waits:', () => {
  test('one that is in no table is found', () => {
    expect(faultsOf(without('placed', { job: 'J3' }))).toEqual([
      'job J3 was acknowledged and is in no table',
    ])
  })

  test('one in two places is found', () => {
    expect(faultsOf(changed('placed', { job: 'J3' }, { places: ['ready', 'leases'] }))).toEqual([
      'job J3 is in ready and leases, not in one',
    ])
  })

  test('one that has a body and no place is found', () => {
    expect(faultsOf(changed('placed', { job: 'J3' }, { places: [] }))).toEqual([
      'job J3 is in none of the places, not in one',
    ])
  })

  test('one that ended and waits as well is found', () => {
    expect(faultsOf(changed('placed', { job: 'J1' }, { places: ['ready'] }))).toEqual([
      'job J1 went retried, completed, and is in ready',
    ])
  })

  test('one that is finished without an end is found', () => {
    const facts = changed('recorded', { job: 'J2', run: 2 }, { outcome: 'paused' })
    expect(faultsOf(facts)).toContain('job J2 went stale-recovered, paused, and is in finished')
  })

  test('one that ended twice is found', () => {
    const facts = changed('recorded', { job: 'J1', run: 1 }, { outcome: 'dead' })
    expect(faultsOf(facts)).toContain('job J1 went dead, completed, and is in finished')
  })

  test('one that ended while it waited for its next run is no fault, and has no other end', () => {
    const waited = { at: 0, process: 'tables', what: 'ended-waiting', job: 'J1' } as const
    const between = changed('recorded', { job: 'J1', run: 2 }, { outcome: 'paused' })
    const story = without(
      'settled',
      { job: 'J1', run: 2 },
      without('effect', { job: 'J1' }, between),
    )
    expect(faultsOf(story)).toEqual(['job J1 went retried, paused, and is in finished'])
    expect(faultsOf([...story, waited])).toEqual([])
    expect(faultsOf([...soundHistory(), waited])).toEqual([
      'job J1 went retried, completed, and is in finished',
    ])
  })

  test('a run that was recorded twice is found', () => {
    const facts = again('recorded', { job: 'J1', run: 2 })
    expect(faultsOf(facts)).toContain('job J1 has records of the runs 1, 2, 2, not of each once')
  })

  test('a run that was not recorded is found', () => {
    const facts = without('recorded', { job: 'J1', run: 1 })
    expect(faultsOf(facts)).toContain('job J1 has records of the runs 2, not of each once')
  })

  test('records of a job that is nowhere are found', () => {
    const facts = without('enqueued', { job: 'J1' }, without('placed', { job: 'J1' }))
    expect(faultsOf(facts)).toEqual(['job J1 has records and is in no table'])
  })

  test('an ask that was rolled back and made a job is found', () => {
    const facts = changed('rolled-back', { ask: 3 }, { ask: 2 })
    expect(faultsOf(facts)).toEqual(['ask 2 was rolled back, and there is job J3 of it'])
  })

  test('an ask that made two jobs is found', () => {
    const facts = changed('placed', { job: 'J3' }, { ask: 0 })
    expect(faultsOf(facts)).toEqual(['ask 0 made the jobs J1 and J3'])
  })
})

describe('no two runs of a job are under way at once:', () => {
  const early = at('began', { job: 'J1', run: 2 })

  test('one that began while the one before held its lease is found', () => {
    const facts = moved('returned', { job: 'J1', run: 1 }, early + 10)
    expect(faultsOf(facts)).toEqual([
      'run 2 of job J1 began while the run before still held its lease',
    ])
  })

  test('one that was told in time may go on for a while', () => {
    const late = moved('returned', { job: 'J1', run: 1 }, early + 10)
    const told: Fact = { at: early - 50, process: 'A', what: 'told', job: 'J1', run: 1 }
    expect(faultsOf([...late, told])).toEqual([])
  })

  test('one that began before the end of the one before was recorded is found', () => {
    const facts = changed('recorded', { job: 'J1', run: 1 }, { recordedAt: early + 400 })
    expect(faultsOf(facts)).toEqual([
      'run 2 of job J1 began before the end of the one before was recorded',
    ])
  })

  test('one that was taken from a worker which was well, and was not told, is found', () => {
    expect(faultsOf(without('struck', { how: 'kill' }))).toContain(
      'run 1 of job J2 went on, and was not told that it lost its lease',
    )
  })

  test('what happened to another worker explains nothing', () => {
    expect(faultsOf(changed('struck', { how: 'kill' }, { target: 'B' }))).toContain(
      'run 1 of job J2 went on, and was not told that it lost its lease',
    )
  })

  test('a strike that was over before the run began explains nothing', () => {
    const before = { how: 'freeze', from: 0, to: 10 }
    expect(faultsOf(changed('struck', { how: 'kill' }, before))).toContain(
      'run 1 of job J2 went on, and was not told that it lost its lease',
    )
  })

  test('a kill is no leave for a run that was not taken', () => {
    const facts = changed('recorded', { job: 'J2', run: 1 }, { outcome: 'retried' })
    expect(faultsOf(facts)).toContain(
      'run 2 of job J2 began while the run before still held its lease',
    )
  })
})

describe('run numbers grow:', () => {
  test('a number that was begun twice is found', () => {
    const facts = again('began', { job: 'J1', run: 2 }, { process: 'A', worker: 'A' })
    expect(faultsOf(facts)).toContain('run 2 of job J1 began twice: in B and in A')
  })

  test('a smaller number after a greater is found', () => {
    const facts = moved('began', { job: 'J1', run: 1 }, at('began', { job: 'J1', run: 2 }) + 5)
    expect(faultsOf(facts)).toContain('run 1 of job J1 began after run 2')
  })

  test('a process that was stopped may begin late what it has lost', () => {
    const late = at('returned', { job: 'J2', run: 2 }) + 50
    const stopped = { how: 'freeze', to: late - 5 }
    const facts = moved('began', { job: 'J2', run: 1 }, late, changed('struck', {}, stopped))
    expect(faultsOf(facts)).toEqual([])
  })
})

describe('what a worker was answered is what was recorded:', () => {
  test('a settlement that applied and is not recorded is found', () => {
    const facts = changed('recorded', { job: 'J1', run: 2 }, { outcome: 'dead' })
    expect(faultsOf(facts)).toContain(
      'run 2 of job J1: B was answered that "completed" applied, and it is not recorded',
    )
  })

  test('a settlement that missed and is recorded is found', () => {
    const facts = changed('settled', { job: 'J1', run: 2 }, { applied: false })
    expect(faultsOf(facts)).toEqual([
      'run 2 of job J1: B was answered that "completed" missed, and it is recorded',
    ])
  })

  test('a settlement that missed because the run was taken is no fault', () => {
    const missed = { what: 'settled', job: 'J2', run: 1, worker: 'A' } as const
    const fact: Fact = { at: 1, process: 'A', ...missed, outcome: 'completed', applied: false }
    expect(faultsOf([...soundHistory(), fact])).toEqual([])
  })

  test('a run that was settled twice is found', () => {
    const facts = again('settled', { job: 'J1', run: 2 })
    expect(faultsOf(facts)).toEqual(['run 2 of job J1 was settled twice by B'])
  })
})

describe('effects are there exactly once:', () => {
  test('one that is missing is found', () => {
    expect(faultsOf(without('effect', { job: 'J1' }))).toEqual([
      'run 2 of job J1 completed, and its effect is missing',
    ])
  })

  test('one that is there twice is found', () => {
    expect(faultsOf(again('effect', { job: 'J1' }))).toEqual(['run 2 of job J1 has 2 effects'])
  })

  test('one of a run that did not complete is found', () => {
    expect(faultsOf(again('effect', { job: 'J2' }, { run: 1, worker: 'A' }))).toEqual([
      'run 1 of job J2 has an effect, and did not complete',
    ])
  })

  test('one of a worker that had lost the run is found', () => {
    expect(faultsOf(changed('effect', { job: 'J2' }, { worker: 'A' }))).toEqual([
      'run 2 of job J2 has an effect of A, recorded is B',
    ])
  })
})

describe('nothing starts before it is due or after it expired:', () => {
  const began = at('began', { job: 'J1', run: 1 })

  test('a first run before its ask said is found', () => {
    expect(faultsOf(changed('enqueued', { job: 'J1' }, { dueAt: began + 900 }))).toEqual([
      'run 1 of job J1 started 900 ms before it was due',
    ])
  })

  test('a later run before the record before it said is found', () => {
    const dueAt = at('began', { job: 'J1', run: 2 }) + 900
    expect(faultsOf(changed('recorded', { job: 'J1', run: 1 }, { dueAt }))).toEqual([
      'run 2 of job J1 started 900 ms before it was due',
    ])
  })

  test('a job that was claimed after it expired is found', () => {
    const facts = changed('enqueued', { job: 'J3' }, { expiresAt: 1_000_000 })
    const late = { what: 'began', job: 'J3', run: 1, worker: 'B' } as const
    const about = { ...late, kind: 'other', queue: 'other', isTransactional: false }
    expect(faultsOf([...facts, { at: 1_000_900, process: 'B', ...about }])).toContain(
      'run 1 of job J3 started 900 ms after it expired',
    )
  })

  test('asks that were merged are due at the earlier and expire at the later', () => {
    expect(faultsOf(again('enqueued', { job: 'J1' }, { dueAt: began + 900 }))).toEqual([])
    expect(faultsOf(again('enqueued', { job: 'J1' }, { expiresAt: 0 }))).toEqual([])
  })

  test('what clocks may differ by is no fault', () => {
    expect(faultsOf(changed('enqueued', { job: 'J1' }, { dueAt: began + 200 }))).toEqual([])
    const strict = faultsOf(changed('enqueued', { job: 'J1' }, { dueAt: began + 200 }), { skew: 0 })
    expect(strict).toHaveLength(1)
  })
})
