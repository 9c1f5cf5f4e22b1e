import type { Schema } from '../../src/core/schema.ts'
import { typed } from '../../src/core/schema.ts'
import type { JobKind } from '../../src/jobs/kind.ts'
import { defineJob } from '../../src/jobs/kind.ts'
import type { EnqueueOptions } from '../../src/jobs/options.ts'
import { NOON, places } from './mill.ts'
import type { Setup } from './mill.ts'
import { until } from './until.ts'

/** The input of the kinds here. */
export interface Sum {
  readonly n: number
}

export const input: Schema<Sum, Sum> = typed<Sum>()
type SumKind = JobKind<{
  name: 'sum'
  input: Sum
  parsed: Sum
  carry: { runs: number }
  result: unknown
}>

/** One kind of job, as producers that merge it in different ways define it. */
export const replaced: SumKind = defineJob('sum', { input, carry: { runs: 0 }, dedup: 'k' })
export const kept: SumKind = defineJob('sum', {
  input,
  carry: { runs: 0 },
  dedup: 'k',
  merge: 'keep',
})
export const twin: SumKind = defineJob('sum', {
  input,
  carry: { runs: 0 },
  dedup: 'k',
  merge: 'independent',
})
export const added: SumKind = defineJob('sum', {
  input,
  carry: { runs: 0 },
  dedup: 'k',
  merge: (existing, incoming) => ({
    input: { n: existing.input.n + incoming.input.n },
    carry: { runs: existing.carry.runs + 10 },
  }),
})

interface Row {
  readonly n: number
  readonly carry: unknown
  readonly failures: number
  readonly priority: number
  readonly due: number
  readonly expires: number | null
}

/** What waits, with instants in seconds from noon. */
export async function waiting(t: Setup): Promise<readonly Row[]> {
  const { rows } = await t.sql.query<Row>(`
    select (payload ->> 'n')::int as n, carry, failures, ready.priority, ${seconds('due_at')} as due, ${seconds('expires_at')} as expires
    from ready
    join jobs on id = job_id
    left join carries using (job_id)
    order by id`)
  return rows
}

export async function decisions(t: Setup): Promise<unknown[]> {
  const { rows } = await t.sql.query<{ decision: string }>(
    `select decision from journal where outcome = 'merged' order by id`,
  )
  return rows.map(({ decision }) => decision)
}

const seconds = (column: string): string =>
  `(extract(epoch from ${column}) - ${NOON / 1_000})::float8`

/** A job that failed once with a carry of one run, and waits for its retry in an hour. */
export async function failedOnce(t: Setup, options: EnqueueOptions = {}): Promise<string> {
  const retry = { failures: 5, backoff: { type: 'fixed', base: '1h', jitter: 0 } } as const
  const { id } = await t.mill.enqueue(replaced, { n: 1 }, { retry, ...options })
  await using worker = t.mill.worker().handle(replaced, (_input, run) => {
    run.carry = { runs: 1 }
    throw new Error('no')
  })
  await worker.start()
  await until(
    async () =>
      (await places(t.sql, t.schema)).ready === 1 && (await waiting(t))[0]?.failures === 1,
  )
  return id
}

/** Whether some client of the database listens. */
export async function isListening({ sql }: Setup): Promise<boolean> {
  const { rows } = await sql.query(
    `select 1 from pg_stat_activity where datname = current_database() and query ilike 'listen%'`,
  )
  return rows.length > 0
}
