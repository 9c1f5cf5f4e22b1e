import { expect, test } from 'vitest'
import { manualClock } from '../../src/core/manual-clock.ts'
import type { ManualClock } from '../../src/core/manual-clock.ts'
import { repeat } from '../../src/database/repeat.ts'
import { DatabaseError } from '../../src/errors.ts'

function failed(facts: { retryable: boolean; outcomeUnknown?: boolean }): DatabaseError {
  return new DatabaseError('no', {
    sqlstate: null,
    statement: 's',
    outcomeUnknown: false,
    ...facts,
  })
}

const passing = failed({ retryable: true })
const turn = () => new Promise((resolve) => setImmediate(resolve))

/** Moves the clock whenever something waits on it, until `done`. */
async function letItPass(clock: ManualClock, done: Promise<unknown>): Promise<void> {
  let isDone = false
  const finish = () => {
    isDone = true
  }
  done.then(finish, finish)
  while (!isDone) {
    await turn()
    if (clock.timers > 0) clock.advance(50)
  }
}

test('work that succeeds is done once, at once', async () => {
  let calls = 0
  const clock = manualClock(0)
  const result = await repeat({ clock, until: () => 1_000 }, async (isUncertain) => {
    calls += 1
    await turn()
    return isUncertain
  })
  expect([result, calls, clock.now()]).toEqual([false, 1, 0])
})

test('a failure that passes is repeated, with pauses that double up to a second', async () => {
  const clock = manualClock(0)
  const at: number[] = []
  const done = repeat({ clock, until: () => 60_000 }, async () => {
    at.push(clock.now())
    await turn()
    if (at.length < 9) throw passing
    return 'done'
  })
  await letItPass(clock, done)
  expect(await done).toBe('done')
  const pauses = at.slice(1).map((each, index) => each - (at[index] ?? 0))
  expect(pauses).toEqual([50, 100, 200, 400, 800, 1_000, 1_000, 1_000])
  expect(clock.timers).toBe(0)
})

test('M8: once a try may have taken effect, all later ones are told', async () => {
  const clock = manualClock(0)
  const told: boolean[] = []
  const done = repeat({ clock, until: () => 60_000 }, async (isUncertain) => {
    told.push(isUncertain)
    await turn()
    if (told.length === 1) throw passing
    if (told.length === 2) throw failed({ retryable: true, outcomeUnknown: true })
    if (told.length === 3) throw passing
  })
  await letItPass(clock, done)
  await done
  expect(told).toEqual([false, false, true, true])
})

test('a failure that does not pass is thrown at once', async () => {
  const clock = manualClock(0)
  for (const error of [failed({ retryable: false }), new Error('a fault')]) {
    let calls = 0
    const done = repeat({ clock, until: () => 60_000 }, async () => {
      calls += 1
      await turn()
      throw error
    })
    await expect(done).rejects.toBe(error)
    expect(calls).toBe(1)
  }
})

test('when the time is over the last error is thrown, and no pause reaches beyond it', async () => {
  const clock = manualClock(0)
  let calls = 0
  const done = repeat({ clock, until: () => 400 }, async () => {
    calls += 1
    await turn()
    throw calls === 4 ? failed({ retryable: true, outcomeUnknown: true }) : passing
  })
  await letItPass(clock, done)
  await expect(done).rejects.toMatchObject({ outcomeUnknown: true })
  expect([calls, clock.now()]).toEqual([4, 350])
})

test('a time that is over already means one try', async () => {
  let calls = 0
  const done = repeat({ clock: manualClock(0), until: () => -5 }, async () => {
    calls += 1
    await turn()
    throw passing
  })
  await expect(done).rejects.toBe(passing)
  expect(calls).toBe(1)
})

test('a signal ends the pause: one last try, whose outcome counts', async () => {
  const clock = manualClock(0)
  const controller = new AbortController()
  let calls = 0
  const done = repeat({ clock, until: () => 60_000, signal: controller.signal }, async () => {
    calls += 1
    await turn()
    if (calls < 2) throw passing
    return calls
  })
  await turn()
  await turn()
  controller.abort()
  expect(await done).toBe(2)
  expect([clock.now(), clock.timers]).toEqual([0, 0])
})

test('no other error passes, whatever it says of itself', async () => {
  const error = Object.assign(new Error('no'), { retryable: true })
  const done = repeat({ clock: manualClock(0), until: () => 60_000 }, () => Promise.reject(error))
  await expect(done).rejects.toBe(error)
})

test('O1: the caller says what passes, until when, asked after each failure, and hears of each', async () => {
  const clock = manualClock(0)
  const heard: unknown[] = []
  let until = 100
  const options = {
    clock,
    until: () => until,
    passes: (error: DatabaseError) => !error.retryable,
    onFailure: (error: DatabaseError) => {
      heard.push(error)
      until = 400
    },
  }
  const error = failed({ retryable: false })
  const done = repeat(options, () => Promise.reject(error))
  await letItPass(clock, done)
  await expect(done).rejects.toBe(error)
  // Tries at 0, 50, 150 and 350; the next one would be at 750.
  expect([heard.length, clock.now()]).toEqual([3, 350])
  await expect(repeat(options, () => Promise.reject(passing))).rejects.toBe(passing)
})
