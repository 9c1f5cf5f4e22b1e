import { open } from 'millrace'
import type { Mill } from 'millrace'
import { Client } from 'pg'
import { fillBacklog, setStatistics } from './backlog-fill.ts'
import type { BacklogSizes, Statistics } from './backlog-fill.ts'
import { atMost, median } from './ratio.ts'
import type { Gate } from './ratio.ts'
import { stepKind, stepWorker } from './step-worker.ts'
import type { StepWorkerOptions } from './step-worker.ts'
import type { StatementTime } from './statement-times.ts'

/**
 * What a claim costs in a database that holds millions of rows it has no use for, against one that
 * is almost empty: two namespaces of one database, a worker in each, claiming in turns, so that
 * whatever disturbs the machine disturbs both.
 */
export interface BacklogOptions extends BacklogSizes {
  /** Claims of each worker, for each variant. */
  readonly steps: number
  /** Rows a claim. */
  readonly slots: number
  readonly say: (line: string) => void
}

export interface BacklogReport {
  readonly variants: readonly BacklogVariant[]
  readonly gates: readonly Gate[]
}

export interface BacklogVariant {
  readonly statistics: Statistics
  readonly fairness: 'strict' | 'rotate'
  readonly small: ClaimCost
  readonly full: ClaimCost
}

/** Milliseconds. */
export interface ClaimCost {
  /** What claims took in a step, statement by statement summed; one step for each element. */
  readonly claims: readonly number[]
  /** Rows that were claimed in all steps. */
  readonly rows: number
  /** The first claim of all, which walks over whatever is in front. */
  readonly first: number
  /** What else went over the claiming connection in the steps: looks at levels, at what is due next. */
  readonly looks: readonly StatementTime[]
  /** Entries of the claim index that were read in all, by first claims and by looks behind the marks, too. */
  readonly entries: number
}

const FEW: BacklogSizes = { ready: 1_000, future: 0, finished: 0, unknown: 0 }
const MOST_RATIO = 1.5

/** On an empty database, which only these workers use. */
export async function backlog(url: string, options: BacklogOptions): Promise<BacklogReport> {
  const { say } = options
  const sql = new Client({ connectionString: url })
  await sql.connect()
  try {
    await fill(url, sql, options)
    const variants: BacklogVariant[] = []
    for (const statistics of ['stale', 'fresh', 'missing'] as const) {
      for (const schema of ['small', 'full']) await setStatistics(sql, schema, statistics)
      for (const fairness of ['strict', 'rotate'] as const) {
        const costs = await inTurns(url, sql, { ...options, fairness })
        const variant = { statistics, fairness, ...costs }
        say(variantText(variant))
        variants.push(variant)
      }
    }
    return { variants, gates: variants.map(gateOf) }
  } finally {
    await sql.end()
  }
}

async function fill(url: string, sql: Client, options: BacklogOptions): Promise<void> {
  const began = performance.now()
  for (const [schema, sizes] of [
    ['small', FEW],
    ['full', options],
  ] as const) {
    await (await open(url, { schema, migrate: 'auto', logger: false })).close()
    await fillBacklog(sql, schema, sizes)
  }
  // The first change of a page after a checkpoint logs all of it: not while it is measured.
  await sql.query('checkpoint')
  options.say(`filled in ${Math.round((performance.now() - began) / 1_000)} s`)
}

interface Pair<T> {
  readonly small: T
  readonly full: T
}

async function inTurns(
  url: string,
  sql: Client,
  options: Omit<StepWorkerOptions, 'schema'> & { readonly steps: number },
): Promise<Pair<ClaimCost>> {
  const small = await measured(url, sql, { ...options, schema: 'small' })
  const full = await measured(url, sql, { ...options, schema: 'full' })
  for (let step = 0; step < options.steps; step += 1) {
    // Whoever goes first goes second next time.
    for (const each of step % 2 === 0 ? [small, full] : [full, small]) await each.step()
  }
  return { small: await small.cost(), full: await full.cost() }
}

interface Measured {
  step(): Promise<void>
  /** Ends it. */
  cost(): Promise<ClaimCost>
}

async function measured(url: string, sql: Client, options: StepWorkerOptions): Promise<Measured> {
  const { schema } = options
  const before = await entriesRead(sql, schema)
  const mill = await open(url, { schema, logger: false })
  // The first claim, too, leaves behind what it found.
  await askFor(mill, options.slots)
  const worker = await stepWorker(mill, options)
  const claims: number[] = []
  const looks: StatementTime[] = []
  let rows = 0
  return {
    async step() {
      await askFor(mill, options.slots)
      const sent = await worker.step()
      const own = sent.filter(isClaim)
      claims.push(sum(own.map(({ ms }) => ms)))
      rows += sum(own.map((each) => each.rows))
      looks.push(...sent.filter((each) => !isClaim(each)))
    },
    async cost() {
      const first = sum(worker.first.filter(isClaim).map(({ ms }) => ms))
      await worker.stop()
      // Sessions hand in their counts at their end.
      await mill.close()
      const entries = (await entriesRead(sql, schema)) - before
      return { claims, rows, first, looks, entries }
    },
  }
}

async function entriesRead(sql: Client, schema: string): Promise<number> {
  const { rows } = await sql.query<{ entries: number }>(
    `select idx_tup_read::float8 as entries
     from pg_stat_user_indexes
     where schemaname = $1 and indexrelname = 'ready_claim'`,
    [schema],
  )
  return rows[0]?.entries ?? Number.NaN
}

async function askFor(mill: Mill, count: number): Promise<void> {
  const inputs = Array.from({ length: count }, (_, number) => ({ number }))
  const low = Math.floor(count / 5)
  await mill.enqueueMany(stepKind, inputs.slice(low))
  await mill.enqueueMany(stepKind, inputs.slice(0, low), { priority: 'low' })
}

function isClaim({ statement }: StatementTime): boolean {
  return statement.startsWith('claim_')
}

function variantText({ statistics, fairness, small, full }: BacklogVariant): string {
  const ratio = median(full.claims) / median(small.claims)
  return `${statistics} statistics, ${fairness}: full ${costText(full)}, almost empty ${costText(small)}, ratio ${ratio.toFixed(2)}`
}

function costText({ claims, first, looks, rows, entries }: ClaimCost): string {
  const each = Math.round(entries / rows)
  return `${ms(median(claims))} (first ${ms(first)}; ${looksText(looks)}; ${each} entries a row)`
}

function looksText(looks: readonly StatementTime[]): string {
  const names = [...new Set(looks.map(({ statement }) => statement))]
  const texts = names.map((name) => {
    const times = looks.filter(({ statement }) => statement === name).map((each) => each.ms)
    return `${times.length} ${name} of ${ms(median(times))}`
  })
  return texts.join(', ') || 'no looks'
}

function gateOf({ statistics, fairness, small, full }: BacklogVariant): Gate {
  const what = `claim time with a backlog, ${statistics} statistics, ${fairness}`
  return atMost(MOST_RATIO, what, median(full.claims) / median(small.claims))
}

function ms(value: number): string {
  return `${value.toFixed(2)} ms`
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0)
}
