import { defineJob, typed } from '../../src/index.ts'
import type { JobKind, JobRecord, Run } from '../../src/index.ts'
import { effects } from './effects.ts'
import type { Effects } from './effects.ts'
import { assertOnePlace, assertRunsRecordedOnce } from './mill.ts'
import type { Setup } from './mill.ts'
import { until } from './until.ts'

interface BookTypes {
  name: 'book'
  input: string
  parsed: string
  carry: undefined
  result: unknown
}

/** Work whose effect is a row of the application. */
export const book: JobKind<BookTypes> = defineJob('book', {
  input: typed<string>(),
  retry: { failures: 3, backoff: { type: 'fixed', base: '10s', jitter: 0 } },
})

export interface Booked {
  readonly id: string
  readonly job: JobRecord | null
  /** The runs whose effects are there. */
  readonly runs: readonly number[]
}

/** One job of `book`, run once by `handler`. */
export async function bookOnce(
  bench: Setup,
  handler: (run: Run<typeof book>, done: Effects) => unknown,
): Promise<Booked> {
  const { mill, sql, schema } = bench
  const done = await effects(bench)
  const worker = mill.worker().handle(book, (_input, run) => handler(run, done))
  const { id } = await mill.enqueue(book, 'x')
  await worker.start()
  await until(async () => (await sql.query('select from timeline')).rows.length > 0)
  await worker.stop()
  await assertOnePlace(sql, schema)
  await assertRunsRecordedOnce(sql, schema)
  return { id, job: await mill.jobs.get(id), runs: await done.runs() }
}

/** Before another `bookOnce` on the same setup. */
export async function startAfresh({ sql }: Setup): Promise<void> {
  await sql.query('drop table effects; truncate jobs, ready, leases, finished, journal, carries')
}

/** What the work rejects with; undefined where it does not. */
export async function thrownBy(work: Promise<unknown>): Promise<unknown> {
  return work.then(
    () => undefined,
    (error: unknown) => error,
  )
}
