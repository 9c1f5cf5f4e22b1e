import { fork } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { defineJob, open, typed } from 'millrace'
import type { JobKind, Mill } from 'millrace'
import { runSql } from '../support/sql.ts'
import { until } from '../support/until.ts'
import { between, seededRandom } from './random.ts'
import type { Random } from './random.ts'

/**
 * Kills worker processes between an effect and the commit of `run.transaction` (O4), half of them in
 * transactions of ours and half in those of a library, and counts what the application finds: each
 * job's effect once, by the run that is recorded as having completed it.
 */
export interface KillOptions {
  readonly kills: number
  readonly seed: number
  /** Processes at the same time. */
  readonly workers: number
  readonly onKill?: ((killed: number) => void) | undefined
}

export interface KillReport {
  readonly kills: number
  /** Kills that hit runs whose effect was written and whose commit had not been told. */
  readonly inBetween: number
  readonly jobs: number
  readonly completed: number
  readonly recovered: number
  readonly effects: number
  /** Effects that are missing, doubled, or of another run than the one recorded. */
  readonly violations: readonly string[]
}

interface WorkTypes {
  name: 'transaction'
  input: { number: number; ms: number }
  parsed: { number: number; ms: number }
  carry: undefined
  result: unknown
}

const LEASE_MS = 1_000
const CONCURRENCY = 4
// However often a job is hit: each kill counts as a failure of the runs that it ends.
const FAILURES = 1_000_000
const DRAIN_WITHIN = 60_000
const PROGRAM = fileURLToPath(new URL('transaction-worker.mjs', import.meta.url))

const work: JobKind<WorkTypes> = defineJob('transaction', {
  input: typed<WorkTypes['input']>(),
  lease: LEASE_MS,
  retry: { failures: FAILURES, backoff: { type: 'fixed', base: '1ms', jitter: 0 } },
})

/** On an empty database. */
export async function killTransactions(url: string, options: KillOptions): Promise<KillReport> {
  const random = seededRandom(options.seed)
  await runSql(
    url,
    'create table effects (job text not null, run int not null, worker text not null)',
  )
  const mill = await open(url, { migrate: 'auto', logger: false })
  try {
    const tally = { kills: 0, inBetween: 0, jobs: 0 }
    const feeding = feed(mill, random, tally, options)
    const lines = Array.from({ length: options.workers }, () =>
      killing(url, random, { tally, options }),
    )
    await Promise.all([feeding, ...lines])
    await drain(url)
    return await report(url, tally)
  } finally {
    await mill.close()
  }
}

interface Tally {
  kills: number
  inBetween: number
  jobs: number
}

/** Keeps some jobs waiting, so that whoever is killed has its hands full. */
async function feed(
  mill: Mill,
  random: Random,
  tally: Tally,
  { kills }: KillOptions,
): Promise<void> {
  while (tally.kills < kills) {
    const inputs = Array.from({ length: 20 }, () => {
      tally.jobs += 1
      return { number: tally.jobs, ms: between(random, 0, 15) }
    })
    await mill.enqueueMany(work, inputs)
    await until(async () => tally.kills >= kills || (await waiting(mill)) < 40, { ms: 600_000 })
  }
}

async function waiting(mill: Mill): Promise<number> {
  const { items } = await mill.jobs.list({ kind: work, state: 'pending' }, { limit: 40 }).page()
  return items.length
}

async function killing(
  url: string,
  random: Random,
  { tally, options }: { readonly tally: Tally; readonly options: KillOptions },
): Promise<void> {
  let next = startWorker(url)
  while (tally.kills < options.kills) {
    const worker = await next
    // The next one starts while this one works.
    next = startWorker(url)
    const hit = await killInBetween(worker, random)
    tally.kills += 1
    tally.inBetween += hit
    options.onKill?.(tally.kills)
  }
  const last = await next
  last.child.kill('SIGKILL')
  await last.exit
}

interface Worker {
  readonly child: ChildProcess
  readonly exit: Promise<unknown>
  /** Numbers whose effect is written and whose commit is not told yet. */
  readonly open: Set<number>
}

async function startWorker(url: string): Promise<Worker> {
  const settings = JSON.stringify({ url, concurrency: CONCURRENCY })
  const child = fork(PROGRAM, [settings], { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] })
  const open = new Set<number>()
  let isReady = false
  child.on('message', (message: { what: string; number: number }) => {
    if (message.what === 'ready') isReady = true
    if (message.what === 'written') open.add(message.number)
    if (message.what === 'committed') open.delete(message.number)
  })
  const exit = once(child, 'exit')
  await until(() => isReady || child.exitCode !== null, { ms: 60_000, every: 2 })
  return { child, exit, open }
}

/** Waits for some effect to be written, and then a moment more or less; answers how many runs were hit in between. */
async function killInBetween({ child, exit, open }: Worker, random: Random): Promise<number> {
  await until(() => open.size > 0, { ms: 60_000, every: 1 })
  await pause(between(random, 0, 12))
  const hit = open.size
  child.kill('SIGKILL')
  await exit
  return hit
}

async function drain(url: string): Promise<void> {
  const { child, exit } = await startWorker(url)
  await until(
    async () => {
      const [row] = await runSql(
        url,
        'select (select count(*)::int from millrace.ready) + (select count(*)::int from millrace.leases) as left_over',
      )
      return Number(row?.['left_over']) === 0
    },
    { ms: DRAIN_WITHIN, every: 100 },
  ).catch(() => undefined)
  child.kill('SIGTERM')
  await exit
}

async function report(url: string, tally: Tally): Promise<KillReport> {
  const [counts] = await runSql(
    url,
    `select
       (select count(*)::int from millrace.finished where state = 'completed') as completed,
       (select count(*)::int from millrace.timeline where outcome = 'stale-recovered') as recovered,
       (select count(*)::int from effects) as effects`,
  )
  const wrong = await runSql(
    url,
    `select j.id, f.state, f.run, f.worker, e.written
     from millrace.jobs j
     left join millrace.finished f on f.job_id = j.id
     left join (
       select job, array_agg(run || ' ' || worker) as written from effects group by job
     ) e on e.job = j.id
     where (f.state = 'completed' and e.written = array[f.run || ' ' || f.worker]) is not true`,
  )
  return {
    ...tally,
    completed: Number(counts?.['completed']),
    recovered: Number(counts?.['recovered']),
    effects: Number(counts?.['effects']),
    violations: wrong.map((row) => JSON.stringify(row)),
  }
}
