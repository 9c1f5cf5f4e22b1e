import type { Client } from 'pg'
import { expect, test } from 'vitest'
import type { Schema } from '../../src/core/schema.ts'
import { defineJob } from '../../src/jobs/kind.ts'
import { collect } from '../support/collect.ts'
import { manualSetup } from '../support/mill.ts'
import type { ManualSetup } from '../support/mill.ts'
import { replaced, waiting } from '../support/sums.ts'
import type { Sum } from '../support/sums.ts'
import { until } from '../support/until.ts'

/** Runs the one job that waits, as far as its pause; its row comes back where the first row of a table stands. */
async function runOnce({ mill, sql, clock }: ManualSetup, runs: number): Promise<void> {
  clock.advance(1_000)
  const [handle] = await mill.claim({ kinds: [replaced] })
  if (handle === undefined) throw new Error('nothing was claimed')
  await untilEmptied(sql)
  handle.carry = { runs }
  expect(await handle.pause({ for: '1s' })).toBe(true)
}

/** Resolves when a vacuum gave back what the deleted rows held, so that their places are taken again. */
async function untilEmptied(sql: Client): Promise<void> {
  await until(async () => {
    await sql.query('vacuum ready')
    const { rows } = await sql.query<{ size: number }>(
      `select pg_relation_size('ready')::int as size`,
    )
    return rows[0]?.size === 0
  })
}

/** Where the one row of `ready` stands, and who wrote it. */
async function versionOf(sql: Client): Promise<{ tid: string; by: string } | undefined> {
  const { rows } = await sql.query<{ tid: string; by: string }>(
    'select ctid::text as tid, xmin::text as by from ready',
  )
  return rows[0]
}

test('D4: a job that ran while its merge is decided, and is back in the place of its old row, is looked at again', async () => {
  await using t = await manualSetup()
  const { id } = await t.mill.enqueue(replaced, { n: 1 })
  await runOnce(t, 1)
  let decide: (() => void) | undefined
  const decided = new Promise<void>((resolve) => {
    decide = resolve
  })
  const parsed: number[] = []
  const slowly: Schema<Sum, Sum> = {
    '~standard': {
      version: 1,
      vendor: 'test',
      async validate() {
        parsed.push(1)
        // After the parse of the ask and of the existing job comes that of the merged input.
        if (parsed.length === 3) await decided
        return { value: { n: 0 } }
      },
    },
  }
  const seen: number[] = []
  const slow = defineJob('sum', {
    input: slowly,
    carry: { runs: 0 },
    dedup: 'k',
    merge: (existing, incoming) => {
      seen.push(existing.run)
      return { input: incoming.input, carry: { runs: existing.carry.runs + 10 } }
    },
  })
  const asked = t.mill.enqueue(slow, { n: 2 })
  await until(() => parsed.length === 3)
  const before = await versionOf(t.sql)

  await runOnce(t, 2)
  const after = await versionOf(t.sql)
  decide?.()

  expect(await asked).toMatchObject({ id, outcome: 'merged' })
  // Only who wrote the row tells the two apart.
  expect(after?.tid).toBe(before?.tid)
  expect(after?.by).not.toBe(before?.by)
  expect(seen).toEqual([1, 2])
  expect(await waiting(t)).toMatchObject([{ n: 2, carry: { runs: 12 } }])
  const journal = await collect(t.mill.jobs.journal(id))
  expect(journal.map(({ outcome }) => outcome)).toEqual(['paused', 'paused', 'merged'])
})
