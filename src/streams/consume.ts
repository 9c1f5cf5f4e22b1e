import type { Runner } from '../database/executor.ts'
import { forever, repeat } from '../database/repeat.ts'
import { DatabaseError, InvalidOptionError, LeaseLostError } from '../errors.ts'
import { moveConsumer } from './consumer-statements.ts'
import type { ConsumerPlace, MoveParams } from './consumer-statements.ts'
import type { StreamEvent } from './event.ts'
import { openIntake, readOrSkip } from './intake.ts'
import type { Intake, IntakeOptions, IntakeParts } from './intake.ts'
import { InvalidEventError } from './stream-errors.ts'

/**
 * Batches of events whose effects are there exactly once: `fn` writes in a transaction whose last
 * statement moves the consumer's offset, from where the batch began, guarded by the token. Where that
 * misses, everything is rolled back: the name was taken by another process meanwhile, and this one
 * stands by again. A commit whose answer was lost is looked up (M8).
 */
export interface ConsumeSetup extends IntakeOptions {
  readonly limit: number
  readonly signal: AbortSignal
  readonly transactions: ConsumeTransactions
}

/** Opens the transaction of one batch; `work` gets what `fn` is given, and a runner on it. */
export interface ConsumeTransactions {
  run(
    bounds: { readonly leaseMs: number; readonly doom: AbortSignal },
    work: (tx: unknown, runner: Runner) => Promise<void>,
  ): Promise<void>
  /** It is opened by a library of the caller's: what it rejects with are its own words. */
  readonly isForeign: boolean
}

export type Consume = (events: readonly StreamEvent[], tx: unknown) => Promise<void>

/** Resolves when the signal aborts, once the batch under way is through. */
export async function consumeEvents(
  setup: ConsumeSetup,
  fn: Consume,
  parts: IntakeParts,
): Promise<void> {
  while (!setup.signal.aborted) {
    const intake = await openIntake(setup, parts, setup.signal)
    if (intake === null) return
    try {
      await whileHeld(intake, { setup, fn, parts })
    } catch (error) {
      if (!intake.held.lost.aborted) throw error
      parts.onFailure(setup.stream.name, error)
    } finally {
      await intake.close()
    }
  }
}

interface Work {
  readonly setup: ConsumeSetup
  readonly fn: Consume
  readonly parts: IntakeParts
}

interface Batch {
  readonly events: readonly StreamEvent[]
  readonly beganAt: number
  /** The offset once it is done. */
  readonly offset: number
}

async function whileHeld(intake: Intake, work: Work): Promise<void> {
  let beganAt = intake.held.savedOffset ?? intake.position
  for (;;) {
    intake.held.lost.throwIfAborted()
    if (work.setup.signal.aborted) return
    const batch = await nextBatch(intake, beganAt, work.setup)
    if (batch === null) continue
    beganAt = await through(batch, { intake, ...work })
    if (beganAt !== batch.offset) intake.rewind(beganAt)
  }
}

/** Ends before an event that does not parse, so that what is before it is done; null: nothing has come. */
async function nextBatch(
  intake: Intake,
  beganAt: number,
  setup: ConsumeSetup,
): Promise<Batch | null> {
  const stored = await intake.next(setup.limit)
  const events: StreamEvent[] = []
  let offset = beganAt
  for (const each of stored) {
    try {
      const event = await readOrSkip(setup, each)
      if (event !== null) events.push(event)
    } catch (error) {
      if (!(error instanceof InvalidEventError) || events.length === 0) throw error
      intake.rewind(offset)
      break
    }
    offset = each.event_offset
  }
  return stored.length === 0 ? null : { events, beganAt, offset }
}

interface Doing extends Work {
  readonly intake: Intake
}

/** Does the batch until it is done by somebody; answers where the consumer then stands. */
async function through(batch: Batch, doing: Doing): Promise<number> {
  const { intake, setup, parts } = doing
  const { clock } = parts.executor
  const onFailure = (error: unknown): void => parts.onFailure(setup.stream.name, error)
  return repeat({ clock, until: forever, signal: setup.signal, onFailure }, async (isUncertain) => {
    if (intake.held.isLapsed) await intake.held.confirm()
    const stands = isUncertain ? await doing.intake.held.standsAt() : batch.beganAt
    if (stands !== batch.beganAt) return stands
    return once(batch, doing)
  })
}

async function once(batch: Batch, doing: Doing): Promise<number> {
  const { intake, setup, fn } = doing
  const { held } = intake
  const place = { stream: setup.stream.name, consumer: setup.as }
  let isMoved = false
  let isMissed = false
  try {
    const bounds = { leaseMs: setup.leaseMs, doom: held.lost }
    await setup.transactions.run(bounds, async (tx, runner) => {
      if (batch.events.length > 0) await fn(batch.events, tx)
      held.lost.throwIfAborted()
      const move = { ...place, token: held.token, began_at: batch.beganAt, offset: batch.offset }
      isMoved = await isFound(runner, move, setup.transactions)
      isMissed = !isMoved
      if (isMissed) throw new LeaseLostError(setup.as, held.token, { text: missed(place) })
    })
  } catch (error) {
    if (isMissed) return elsewhere(batch, doing, error)
    if (!isMoved || !mayHaveCommitted(error, setup.transactions)) throw error
    const stands = await doing.intake.held.standsAt()
    if (stands === batch.beganAt) throw error
    return stands
  }
  // A library that swallows what its work rejects with says that all is well.
  if (!isMoved) throw notMoved()
  return batch.offset
}

/** Moves the offset; false: the row is not as this batch knows it, or not there at all. */
async function isFound(
  runner: Runner,
  move: MoveParams,
  { isForeign }: ConsumeTransactions,
): Promise<boolean> {
  try {
    return (await runner.run(moveConsumer, move)).length > 0
  } catch (error) {
    if (isForeign && error instanceof DatabaseError && NOT_THERE.has(error.sqlstate)) return false
    throw error
  }
}

// The table, its schema: a database without Millrace.
const NOT_THERE: ReadonlySet<string | null> = new Set(['42P01', '3F000'])

function mayHaveCommitted(error: unknown, { isForeign }: ConsumeTransactions): boolean {
  return isForeign || (error instanceof DatabaseError && error.outcomeUnknown)
}

/** The move found nothing: the name is another's, the offset was moved by hand, or the database is another one. */
async function elsewhere(batch: Batch, doing: Doing, cause: unknown): Promise<number> {
  const stands = await doing.intake.held.standsAt()
  if (stands !== batch.beganAt) return stands
  if (!doing.setup.transactions.isForeign) throw cause
  throw new InvalidOptionError('transaction', 'another database', {
    text:
      `consumer ${JSON.stringify(doing.setup.as)} does not stand there where it is read. Pass what ` +
      'opens transactions on the database of this client.',
    cause,
  })
}

function missed({ stream, consumer }: ConsumerPlace): string {
  return (
    `consumer ${JSON.stringify(consumer)} of stream ${JSON.stringify(stream)} moved on elsewhere while this batch was ` +
    'at work. It is rolled back: let what your function threw or got through reach consume().'
  )
}

function notMoved(): InvalidOptionError {
  return new InvalidOptionError(
    'transaction',
    'a transaction that ended without its work',
    'its library must call the function it is given, and reject where that rejects. Nothing was saved.',
  )
}
