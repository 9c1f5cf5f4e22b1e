import { expect, test } from 'vitest'
import { DatabaseError, defineJob, typed } from '../../src/index.ts'
import { setup } from '../support/mill.ts'

const visit = defineJob('visit', { input: typed<number>() })

// The second statement is refused, while the asks of a third are read.
const JOBS = 10_001

test('E3: a bulk enqueue that fails says so at once, though its source has more to give and waits', async () => {
  await using bench = await setup()
  const { mill, sql } = bench
  await sql.query(
    `create function refused() returns trigger language plpgsql as $$
     begin raise 'nobody may' using errcode = '42501'; end $$`,
  )
  await sql.query(
    `create trigger refused before insert on jobs for each row
     when (new.payload::text = '9999') execute function refused()`,
  )
  let giveUp: (() => void) | undefined
  const waiting = new Promise<void>((resolve) => {
    giveUp = resolve
  })
  let isTooLate = false
  let isClosed = false
  async function* source(): AsyncGenerator<number> {
    try {
      for (let number = 0; number < JOBS; number += 1) yield number
      await waiting
    } finally {
      isClosed = true
    }
  }
  const asked = mill.enqueueMany(visit, source())
  const tooLate = setTimeout(() => {
    isTooLate = true
    giveUp?.()
  }, 5_000)
  await expect(asked).rejects.toThrow(DatabaseError)
  expect(isTooLate, 'it waited for its source').toBe(false)
  clearTimeout(tooLate)
  giveUp?.()
  await expect.poll(() => isClosed).toBe(true)
})
