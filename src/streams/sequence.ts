import type { Clock } from '../core/clock.ts'
import { wait } from '../core/wait.ts'
import type { Lane } from '../database/executor.ts'
import { inboxMark } from './inbox-mark.ts'
import { lookBeforeMark, sequenceEvents, waitingStreams } from './sequence-statements.ts'

/**
 * Offsets are given by whoever reads next: one autocommitted call of `sequence_events`, which locks
 * the stream's row or skips, reads the head and moves up to 10 000 events out of the inbox. So no
 * reader misses an event, whatever the order of commits, and no transaction, of a publisher or of a
 * reader, is ever waited for (docs/adr/0008).
 */
export interface Sequencers {
  of(stream: string): Sequencer
  /** Every stream in whose inbox something waits, until told to stop: maintenance, for streams that nobody reads. */
  all(isStopped?: () => boolean): Promise<void>
}

export interface Sequencer {
  /** One pass, begun after the call: calls while one is under way share the next. */
  pass(): Promise<Passed>
  /** Passes until what was committed before the call has its offset; a session that is stuck at it is waited for a second. */
  catchUp(): Promise<void>
  /**
   * Looks before the mark, and puts that off where a look not long ago took its time, unless it is
   * forced. What is found there the next pass moves.
   */
  look(isForced: boolean): Promise<Look>
}

export type Look = 'found' | 'nothing' | 'put off'

export interface Passed {
  /** How many left the inbox. */
  readonly moved: number
  /** Another session was at it. */
  readonly isSkipped: boolean
  /** More waits than one pass moves. */
  readonly isFull: boolean
}

export interface SequencersOptions {
  readonly clock: Clock
  readonly lane: () => Lane
  /** Looks are made here: they may take long, and must not hold up a pass. */
  readonly lookLane: () => Lane
  readonly isAnnounced: boolean
}

// How many events one pass moves at most, and fewer where they are so large that it takes long: a pass
// holds up the stream's other readers.
const MOST = 10_000
const FEWEST = 100
const LONG_PASS = 1_000
// Looks take up a twentieth of the time at most.
const LOOK_APART = 20
const SKIP_PAUSE = 20
const MOST_TRIES = 50

export function sequencers(options: SequencersOptions): Sequencers {
  const known = new Map<string, Sequencer>()

  function of(stream: string): Sequencer {
    let found = known.get(stream)
    if (found === undefined) known.set(stream, (found = sequencer(stream, options)))
    return found
  }

  return {
    of,
    async all(isStopped = () => false) {
      for (const { stream } of await options.lookLane().run(waitingStreams, {})) {
        if (!isStopped()) await drain(of(stream), isStopped)
      }
    },
  }
}

// One that another session is at is left to it.
async function drain(each: Sequencer, isStopped: () => boolean): Promise<void> {
  await each.look(true)
  let passed = await each.pass()
  while (passed.isFull && !isStopped()) passed = await each.pass()
}

function sequencer(stream: string, options: SequencersOptions): Sequencer {
  const { clock, lane, lookLane, isAnnounced } = options
  const mark = inboxMark()
  let current: Promise<Passed> | undefined
  let next: Promise<Passed> | undefined
  let most = MOST
  let looking: Promise<Look> | undefined
  let looked = { at: Number.NEGATIVE_INFINITY, took: 0 }

  async function passOnce(): Promise<Passed> {
    const from = mark.at
    const given = { stream, mark: from, most, is_announced: isAnnounced }
    const began = clock.now()
    const [row] = await lane()
      .run(sequenceEvents, given)
      .catch((error: unknown) => {
        fewer()
        throw error
      })
    const { moved = 0, skipped: isSkipped = false, head_place: headPlace = 0 } = row ?? {}
    const isFull = moved >= most
    if (clock.now() - began > LONG_PASS) fewer()
    else most = Math.min(MOST, most * 2)
    if (!isSkipped) mark.passed({ from, headPlace, isFull, now: clock.now() })
    return { moved, isSkipped, isFull }
  }

  async function lookOnce(): Promise<Look> {
    const began = clock.now()
    const [found] = await lookLane().run(lookBeforeMark, { stream, mark: mark.at })
    looked = { at: clock.now(), took: clock.now() - began }
    if (found === undefined) return 'nothing'
    mark.lower(found.place)
    return 'found'
  }

  function fewer(): void {
    most = Math.max(FEWEST, Math.floor(most / 4))
  }

  function begin(): Promise<Passed> {
    const pass = passOnce().finally(() => {
      if (current === pass) current = undefined
    })
    current = pass
    return pass
  }

  function pass(): Promise<Passed> {
    if (current === undefined) return begin()
    next ??= current
      .catch(() => undefined)
      .then(() => {
        next = undefined
        return begin()
      })
    return next
  }

  return {
    pass,
    async catchUp() {
      for (let tries = 0; tries < MOST_TRIES; tries += 1) {
        const passed = await pass()
        if (!passed.isSkipped && !passed.isFull) return
        if (passed.isFull) tries = 0
        else await wait(clock, SKIP_PAUSE)
      }
    },
    look(isForced) {
      if (mark.at === 0) return Promise.resolve('nothing')
      const isTooSoon = clock.now() - looked.at < looked.took * LOOK_APART
      if (looking === undefined && isTooSoon && !isForced) return Promise.resolve('put off')
      // One at a time: others would only stand in line behind it.
      looking ??= lookOnce().finally(() => {
        looking = undefined
      })
      return looking
    },
  }
}
