import type { Runner } from '../database/executor.ts'
import { repeat } from '../database/repeat.ts'
import { DatabaseError, InvalidOptionError, LeaseLostError } from '../errors.ts'
import { lockLease } from './lease-statements.ts'
import type { SelfSettling, TransactionServices } from './run-transaction.ts'
import { settledRuns, settleRun } from './settle-statements.ts'

/**
 * The frame of a transaction in which a run settles itself: the lease locked before the effects, the
 * settlement after them, and after a commit whose answer was lost a look at what came of it (M8).
 */
export interface Place {
  readonly runner: Runner
  /** A transaction of the caller's own library. */
  readonly isForeign: boolean
}

type Settle<T> = (place: Place, fn: () => Promise<T>) => Promise<T>

/** What one call came to, as far as it was seen from inside. */
interface Course<T> {
  settled: { readonly value: T } | undefined
  isMissing: boolean
}

/** Resolves with what `fn` gave once its effects and the settlement are committed. */
export async function decided<T>(
  run: SelfSettling,
  services: TransactionServices,
  open: (settle: Settle<T>) => Promise<unknown>,
): Promise<T> {
  const course: Course<T> = { settled: undefined, isMissing: false }
  const held: (() => void)[] = []
  try {
    await open(async (place, fn) => {
      held.push(services.holds.begin())
      course.settled = undefined
      course.settled = { value: await settledWith({ run, place, services, course }, fn) }
      return course.settled.value
    })
  } catch (error) {
    for (const leave of held.splice(0)) leave()
    if (course.isMissing) throw await noLease(run, services)
    const { settled } = course
    if (settled === undefined || !mayHaveCommitted(error)) throw error
    if (!(await isRecorded(run, services).catch(() => false))) throw error
    return settled.value
  } finally {
    for (const leave of held.splice(0)) leave()
  }
  // A library that swallows what its work rejects with says that all is well.
  if (course.settled === undefined) throw notSettled()
  return course.settled.value
}

interface Within<T> {
  readonly run: SelfSettling
  readonly place: Place
  readonly services: TransactionServices
  readonly course: Course<T>
}

async function settledWith<T>(
  { run, place, services, course }: Within<T>,
  fn: () => Promise<T>,
): Promise<T> {
  const { runner } = place
  const { worker, hintUntil } = services
  if (!(await isLocked(place, { id: run.id, run: run.run, worker }))) {
    course.isMissing = true
    throw new LeaseLostError(run.id, run.run)
  }
  run.doom.throwIfAborted()
  const value = await fn()
  const { fate, followUps } = await run.settlement(value)
  run.doom.throwIfAborted()
  run.onSettling()
  const settled = await runner.run(settleRun, {
    fates: JSON.stringify([fate]),
    follow_ups: '[]',
    worker,
    hint_until: hintUntil(),
  })
  if (settled.length === 0) throw new LeaseLostError(run.id, run.run)
  // After it: an ask with the key of this very job must find it ended.
  if (followUps.length > 0) await services.writeAsks(runner, followUps)
  run.doom.throwIfAborted()
  return value
}

async function isLocked(
  { runner, isForeign }: Place,
  lease: { readonly id: string; readonly run: number; readonly worker: string },
): Promise<boolean> {
  try {
    return (await runner.run(lockLease, lease)).length > 0
  } catch (error) {
    if (isForeign && error instanceof DatabaseError && NOT_THERE.has(error.sqlstate)) return false
    throw error
  }
}

// The table, its schema: a database without Millrace.
const NOT_THERE: ReadonlySet<string | null> = new Set(['42P01', '3F000'])

// A library of the caller's reports a lost connection in its own words.
function mayHaveCommitted(error: unknown): boolean {
  return !(error instanceof DatabaseError) || error.outcomeUnknown
}

/** The lease that was not there: is it where this worker claims? Then the database is another one. */
async function noLease(
  run: SelfSettling,
  { executor, worker }: TransactionServices,
): Promise<Error> {
  const lost = new LeaseLostError(run.id, run.run)
  const lease = { id: run.id, run: run.run, worker }
  const found = await executor.lane('settle alone').run(lockLease, lease)
  if (found.length === 0) return lost
  return new InvalidOptionError('db', 'another database', {
    text:
      `job ${run.id} has no lease there, but where this worker claims it has. Pass what opens ` +
      'transactions on the database of the worker.',
    cause: lost,
  })
}

/**
 * Whether the run settled itself. The lock waits for a commit that is still under way on the server;
 * without it the record might come right after the look.
 */
function isRecorded(
  run: SelfSettling,
  { executor, worker }: TransactionServices,
): Promise<boolean> {
  const lane = executor.lane('settle alone')
  const end = executor.clock.now() + run.leaseMs
  const pair = { id: run.id, run: run.run }
  return repeat({ clock: executor.clock, until: () => end }, async () => {
    await lane.run(lockLease, { ...pair, worker })
    return (await lane.run(settledRuns, { runs: JSON.stringify([pair]), worker })).length > 0
  })
}

function notSettled(): InvalidOptionError {
  return new InvalidOptionError(
    'db',
    'a transaction that ended without its work',
    'its library must call the function it is given, and reject where that rejects. Nothing was settled.',
  )
}
