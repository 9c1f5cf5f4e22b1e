import { expect, test } from 'vitest'
import type { Query } from '../../src/database/database.ts'
import { namespace } from '../../src/database/namespace.ts'
import { bind } from '../../src/database/statement.ts'
import { claimHandles, claimJobs, claimJobsWithinCaps } from '../../src/worker/claim-statements.ts'
import { places, setup } from '../support/mill.ts'
import type { Setup } from '../support/mill.ts'
import { nodesOf, planOf } from '../support/plan.ts'
import type { PlanMode } from '../support/plan.ts'
import { seed, SEEDED_AT } from '../support/seed.ts'

// A choice with a limit that is the inner side of a nested loop is made once for each outer row, and
// locks other rows each time. Without what is turned off here the planner has hardly another way.
const OTHER_WAYS = [
  'enable_hashjoin',
  'enable_mergejoin',
  'enable_material',
  'enable_memoize',
  'enable_hashagg',
  'enable_sort',
  'enable_tidscan',
]
const MODES: readonly PlanMode[] = ['force_custom_plan', 'force_generic_plan']
const MOST = 5

const probes = JSON.stringify(
  Array.from({ length: 10 }, (_, level) => ({
    turn: 0,
    queue: 'default',
    level,
    lane: 0,
    kinds: ['greet'],
    mark_due: '-infinity',
    mark_id: '',
    most: MOST,
    lane_most: MOST,
    queue_most: MOST,
  })),
)
const params = { probes, most: MOST, worker: 'worker 1', now: SEEDED_AT }

function claims({ schema }: Setup): readonly Query[] {
  const place = namespace(schema)
  return [
    bind(claimJobs, params, place),
    bind(claimJobsWithinCaps, params, place),
    bind(claimHandles, { ...params, lease_ms: null }, place),
  ]
}

test.each(MODES)(
  'replays 27: a claim never takes more than it asked for, though statistics favour nested loops (%s)',
  async (mode) => {
    await using t = await setup()
    // What is known of the tables is that they are empty: joins in a loop cost nothing then.
    await t.sql.query('analyze jobs, ready, leases, carries')
    await seed(t.sql, { ready: 2_000, leases: 0, finished: 0 })
    for (const setting of OTHER_WAYS) await t.sql.query(`set ${setting} = off`)

    let taken = 0
    for (const claim of [...claims(t), ...claims(t)]) {
      const types = [...nodesOf(await planOf(t.sql, mode, claim))].map((node) => node['Node Type'])
      expect(types).toContain('Nested Loop')
      await t.sql.query(`set plan_cache_mode = ${mode}`)
      const { rows } = await t.sql.query({ ...claim, values: [...claim.values] })
      expect(rows).toHaveLength(MOST)
      taken += MOST
      expect(await places(t.sql, t.schema)).toMatchObject({ ready: 2_000 - taken, leases: taken })
    }
  },
  60_000,
)
