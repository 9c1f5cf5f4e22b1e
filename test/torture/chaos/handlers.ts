import { setTimeout as pause } from 'node:timers/promises'
import type { JobKind, ParsedOf, Paused, Run, Worker } from 'millrace'
import type { Pool } from 'pg'
import type { FactLog } from '../history/log.ts'
import { perform, task } from '../task.ts'
import {
  child,
  doomed,
  gathered,
  mails,
  narrow,
  paged,
  parent,
  single,
  tick,
  timely,
} from './kinds.ts'

/** What the handlers of one worker share. */
export interface Scene {
  readonly worker: Worker
  readonly tell: FactLog
  /** The application's own connections. */
  readonly own: Pool
}

export const CAPS = { concurrency: 12, queues: { default: 12, narrow: 2 }, kinds: { paged: 3 } }

/** Gives the worker something to do for every kind; each tells when it is called and when it is over. */
export function handleAll(scene: Scene): void {
  const { worker } = scene
  worker.handle(
    task,
    observed(scene, doTask, ({ isTransactional }) => isTransactional),
  )
  worker.handle(gathered, observed(scene, doGathered, always))
  worker.handle(paged, observed(scene, turnPage), { concurrency: CAPS.kinds.paged })
  worker.handle(parent, observed(scene, begetChildren))
  for (const each of [child, timely, tick] as const) worker.handle(each, observed(scene, nothing))
  worker.handle(narrow, observed<typeof narrow>(scene, takeTime))
  worker.handle(doomed, observed<typeof doomed>(scene, takeTime))
  worker.handle(single, observed<typeof single>(scene, takeTime))
  worker.deliver(mails, ({ fails }, { id, key, failures }) =>
    deliver(scene, { id, key: key ?? '', isFailing: failures < fails }),
  )
}

/** Does its work, and gives what is to be written in `run.transaction` once it has told of its end. */
type Body<K extends JobKind> = (
  input: ParsedOf<K>,
  run: Run<K>,
  worker: string,
) => Promise<Paused | (() => Promise<void>) | void>

function observed<K extends JobKind>(
  { worker: { id: worker }, tell }: Scene,
  body: Body<K>,
  isTransactional: (input: ParsedOf<K>) => boolean = never,
): (input: ParsedOf<K>, run: Run<K>) => Promise<Paused | void> {
  return async (input, run) => {
    const own = { job: run.id, run: run.number }
    const about = { worker, kind: run.kind, queue: run.queue }
    tell({ what: 'began', ...own, ...about, isTransactional: isTransactional(input) })
    run.signal.addEventListener('abort', () => tell({ what: 'told', ...own }), { once: true })
    let end: Awaited<ReturnType<Body<K>>>
    try {
      end = await body(input, run, worker)
    } finally {
      // Before the transaction: whoever is killed behind its commit could not tell any more.
      tell({ what: 'returned', ...own })
    }
    if (typeof end !== 'function') return end
    await end()
  }
}

function always(): boolean {
  return true
}

function never(): boolean {
  return false
}

const EFFECT = 'insert into effects (job, run, worker) values ($1, $2, $3)'
const DONE = 'insert into asks_done (ask, job, run) select unnest($1::int[]), $2, $3'

const doTask: Body<typeof task> = async (input, run, worker) => {
  await perform(input, run)
  if (!input.isTransactional) return
  return () =>
    run.transaction(async (tx) => {
      await tx.query(EFFECT, [run.id, run.number, worker])
    })
}

const doGathered: Body<typeof gathered> = async ({ asks }, run, worker) => {
  await pause(5)
  return () =>
    run.transaction(async (tx) => {
      await tx.query(EFFECT, [run.id, run.number, worker])
      await tx.query(DONE, [asks, run.id, run.number])
    })
}

const turnPage: Body<typeof paged> = async ({ pages }, run) => {
  if (run.carry.page >= pages) return
  await pause(10)
  run.carry = { page: run.carry.page + 1 }
  return run.pause({ for: '20ms' })
}

const begetChildren: Body<typeof parent> = async ({ children, failures }, run) => {
  for (let born = 0; born < children; born += 1) await run.enqueue(child, { parent: run.id })
  if (run.failures < failures) throw new Error('fails as planned')
}

async function takeTime(
  { ms }: { readonly ms: number },
  { signal }: { readonly signal: AbortSignal },
): Promise<void> {
  await pause(ms, undefined, { signal })
}

async function nothing(): Promise<void> {
  await pause(1)
}

interface Attempt {
  readonly id: string
  readonly key: string
  readonly isFailing: boolean
}

// The receiver takes a delivery only from who has the lease: it is no receiver's fault that a process
// which was stopped goes on with what others have done meanwhile.
const NOTE = `
  insert into post.deliveries (key, id, what, process)
  select $1, $2, $3, $4
  where exists (select from millrace.leases where job_id = $2 and worker = $5)`

async function deliver({ own, worker }: Scene, attempt: Attempt): Promise<void> {
  const { id, key, isFailing } = attempt
  const note = async (what: string): Promise<void> => {
    const { rowCount } = await own.query(NOTE, [key, id, what, process.pid, worker.id])
    if (rowCount === 0) throw new Error('the receiver knows of another sender')
  }
  await note('begins')
  await pause(3)
  await note(isFailing ? 'fails' : 'ends')
  if (isFailing) throw new Error('not this time')
}
