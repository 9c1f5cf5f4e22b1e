import { describe, expect, test } from 'vitest'
import { PLAN_SETTINGS } from '../../src/database/database.ts'
import { namespace } from '../../src/database/namespace.ts'
import { setup } from '../support/mill.ts'
import type { Setup } from '../support/mill.ts'
import { faultsOf, indexesOf, nodesOf, planOf } from '../support/plan.ts'
import type { PlanMode, PlanNode } from '../support/plan.ts'
import { seed } from '../support/seed.ts'
import { SAMPLES } from './plan-samples.ts'
import type { PlanSample } from './plan-sample.ts'

// Queue tables are empty, or stale, whenever they are analyzed: a plan that is only good with the
// statistics of today is a claim that takes a second tomorrow.
const SIZES = [1, 1_000, 100_000]
const MODES: readonly PlanMode[] = ['force_custom_plan', 'force_generic_plan']

describe.each(SIZES)('hot statements read the index they should, with %d rows', (rows) => {
  test('without statistics', async () => {
    await using t = await pinnedSetup()
    await fill(t, rows)
    expect(await faultsIn(t, rows)).toEqual([])
  }, 120_000)

  test('with statistics of when the tables were empty, and with fresh ones', async () => {
    await using t = await pinnedSetup()
    await analyze(t)
    await fill(t, rows)
    expect(await faultsIn(t, rows)).toEqual([])
    await analyze(t)
    expect(await faultsIn(t, rows)).toEqual([])
  }, 120_000)
})

test('the mark of a claim is a condition of the index, so that dead entries before it are not walked', async () => {
  await using t = await pinnedSetup()
  await seed(t.sql, { ready: 1_000, leases: 1, finished: 1 })
  const claim = SAMPLES.find(({ name }) => name === 'claim_jobs')?.query(namespace(t.schema))
  if (claim === undefined) throw new Error('there is no sample of claim_jobs')
  const plan = await planOf(t.sql, 'force_custom_plan', claim)
  const probe = [...nodesOf(plan)].find((node) => node['Index Name'] === 'ready_claim')
  expect(probe?.['Index Cond']).toMatch(
    /ROW\(due_at, job_id\) >= ROW\(\w+\.mark_due, \w+\.mark_id\)/,
  )
  expect(probe?.['Index Cond']).toContain('due_at <=')
  expect([...nodesOf(plan)].map((node) => node['Node Type'])).toContain('Tid Scan')
})

/** A session with the settings of our own connections. */
async function pinnedSetup(): Promise<Setup> {
  const t = await setup()
  for (const [setting, value] of Object.entries(PLAN_SETTINGS)) {
    await t.sql.query(`set ${setting} = ${value}`)
  }
  return t
}

function fill({ sql }: Setup, rows: number): Promise<void> {
  return seed(sql, { ready: rows, leases: Math.ceil(rows / 5), finished: Math.ceil(rows / 2) })
}

async function analyze({ sql }: Setup): Promise<void> {
  await sql.query('analyze jobs, ready, leases, finished, journal, locks, lock_waiters')
}

async function faultsIn(t: Setup, rows: number): Promise<readonly string[]> {
  const found: string[] = []
  for (const mode of MODES) {
    for (const sample of SAMPLES) {
      const plan = await planOf(t.sql, mode, sample.query(namespace(t.schema)))
      const words = [...faultsOf(plan), ...wrongIndexes(plan, sample, rows)]
      found.push(...words.map((word) => `${sample.name}, ${mode}: ${word}`))
    }
  }
  return found
}

// To look an id up in a table of one page all its indexes cost the same; what is planned anew each
// time may take any.
function wrongIndexes(plan: PlanNode, sample: PlanSample, rows: number): readonly string[] {
  if (!sample.isPrepared && rows === 1) return []
  const read = indexesOf(plan)
  const { reads, mayRead } = sample
  return [
    ...reads.filter((index) => !read.has(index)).map((index) => `${index} is not read`),
    ...[...read]
      .filter((index) => !reads.includes(index) && !mayRead.includes(index))
      .map((index) => `${index} is read`),
  ]
}
