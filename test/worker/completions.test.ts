import { expect, test } from 'vitest'
import { completeAlikeRuns, completeRuns } from '../../src/worker/complete-statements.ts'
import { settleRuns } from '../../src/worker/settle-statements.ts'
import type { SettledAnswer } from '../../src/worker/settle-statements.ts'
import type { Lane } from '../../src/database/executor.ts'
import { executorOn } from '../support/executor.ts'
import { insertLease } from '../support/leases.ts'
import { manualSetup } from '../support/mill.ts'
import type { ManualSetup } from '../support/mill.ts'

const worker = 'host:1:own'
const RUN = 2

type Complete = (
  lane: Lane,
  ids: readonly string[],
  keepMs: number | null,
) => Promise<readonly SettledAnswer[]>

const fatesOf = (ids: readonly string[], keepMs: number | null): string =>
  JSON.stringify(
    ids.map((id) => ({ id, run: RUN, outcome: 'completed', keep_ms: keepMs ?? undefined })),
  )

const WAYS: Readonly<Record<string, Complete>> = {
  settle_runs: (lane, ids, keepMs) =>
    lane.run(settleRuns, {
      fates: fatesOf(ids, keepMs),
      follow_ups: '[]',
      worker,
      hint_until: '-infinity',
    }),
  complete_runs: (lane, ids, keepMs) =>
    lane.run(completeRuns, { fates: fatesOf(ids, keepMs), worker }),
  complete_alike_runs: (lane, ids, keepMs) =>
    lane.run(completeAlikeRuns, { ids: `{${ids.join(',')}}`, run: RUN, keep_ms: keepMs, worker }),
}

/** What is left where of four leases: ours, ours with a key, of another run, and somebody else's; a fifth is gone. */
async function outcome(t: ManualSetup, complete: Complete, keepMs: number | null) {
  await using executor = await executorOn(t, t.clock)
  const ours = { kind: 'visit', worker, run: RUN, failures: 1 }
  const names = new Map<string, string>()
  for (const [name, lease] of Object.entries({
    plain: ours,
    keyed: { ...ours, dedupKey: 'a key' },
    earlier: { ...ours, run: 1 },
    others: { ...ours, worker: 'host:2:other' },
    gone: ours,
  })) {
    names.set(await insertLease(t.sql, lease), name)
  }
  const named = (id: string): string => names.get(id) ?? id
  await t.sql.query('delete from leases where job_id = $1', [[...names.keys()].at(-1)])
  const [answer] = await complete(executor.lane('settle'), [...names.keys()], keepMs)
  const left = await t.sql.query<{ job_id: string }>('select job_id from leases')
  const kept = await t.sql.query<{ job_id: string }>('select * from finished')
  return {
    applied: answer?.applied,
    told: inNames(answer?.told),
    named: inNames(answer?.named),
    left: left.rows.map((row) => named(row.job_id)).toSorted(),
    kept: kept.rows
      .map((row) => ({ ...row, job_id: named(row.job_id) }))
      .toSorted((a, b) => (a.job_id < b.job_id ? -1 : 1)),
  }

  function inNames(text: string | null | undefined): readonly string[] | null {
    if (text === null || text === undefined) return null
    return [...names].flatMap(([id, name]) => (text.includes(id) ? [name] : []))
  }
}

test.each([null, 0, 60_000])(
  'O1: completions are written alike by every statement for them, and only with the lease of that run (keep %s)',
  async (keepMs) => {
    const outcomes = []
    for (const complete of Object.values(WAYS)) {
      await using t = await manualSetup()
      outcomes.push(await outcome(t, complete, keepMs))
    }
    const [general, ...others] = outcomes
    expect(general).toMatchObject({
      applied: 2,
      told: ['keyed'],
      named: ['plain', 'keyed'],
      left: ['earlier', 'others'],
      kept: [{ job_id: 'keyed' }, { job_id: 'plain' }],
    })
    for (const other of others) expect(other).toEqual(general)
  },
)
