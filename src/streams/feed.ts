import type { Clock } from '../core/clock.ts'
import type { Runner } from '../database/executor.ts'
import type { WakeHint } from '../database/hint.ts'
import { forever, repeat } from '../database/repeat.ts'
import type { Bells } from './bells.ts'
import { readEvents } from './read-statements.ts'
import type { StoredEvent } from './read-statements.ts'
import type { Look, Sequencer } from './sequence.ts'

/**
 * The events of a stream behind an offset, as they come. A reader gives offsets itself before it
 * reads, and reads without that only while the last answer was full. It waits when a pass found the
 * inbox empty and a read begun after that found nothing: whatever is published later is announced, or
 * found by the poll. One that was skipped comes back after 5 to 50 ms, or when the other is through.
 */
export interface Feed extends Disposable {
  /** Up to `most` events behind `after`; waits until there are some. None when the signal aborts. */
  next(after: number, most: number): Promise<readonly StoredEvent[]>
}

export interface FeedOptions {
  readonly stream: string
  readonly clock: Clock
  readonly runner: () => Runner
  readonly sequencer: Sequencer
  readonly bells: Bells
  readonly signal: AbortSignal
  readonly onFailure: (error: unknown) => void
}

const FIRST_PAUSE = 5
const LONGEST_PAUSE = 50
// An event that was committed late is looked for within this.
const LOOK_WITHIN = 1_000

export function feed(options: FeedOptions): Feed {
  const { stream, clock, runner, sequencer, signal } = options
  const bell = options.bells.hang(hear)
  signal.addEventListener('abort', bell.ring)
  const repeated = {
    clock,
    until: forever,
    signal,
    onFailure: options.onFailure,
  }
  /** What was heard since the last round began. */
  let isCalled = false
  let head = 0
  let readTo = 0
  let wasFull = true
  /** Since when a look is owed. */
  let putOffAt: number | null = null
  let pause = FIRST_PAUSE

  function hear(hint: WakeHint): boolean {
    if (hint.type === 'resync') isCalled = true
    else if (hint.type === 'stream' && hint.stream === stream) isCalled = true
    else if (hint.type === 'sequenced' && hint.stream === stream) head = Math.max(head, hint.head)
    else return false
    return true
  }

  async function read(after: number, most: number): Promise<readonly StoredEvent[]> {
    const events = await runner().run(readEvents, { stream, after, most })
    readTo = events.at(-1)?.event_offset ?? after
    wasFull = events.length === most
    return events
  }

  async function attempt(after: number, most: number): Promise<readonly StoredEvent[]> {
    const ahead = wasFull ? await read(after, most) : []
    return ahead.length > 0 ? ahead : round(after, most)
  }

  /** A pass and a read; where both found nothing, a sleep. */
  async function round(after: number, most: number): Promise<readonly StoredEvent[]> {
    // What was told before is in what is read now. A head that is not there was told by somebody
    // else: any role may notify, and must not keep this loop from sleeping.
    isCalled = false
    head = 0
    const passed = await sequencer.pass()
    const events = await read(after, most)
    const isIdle = events.length === 0 && passed.moved === 0
    if (isIdle) await (passed.isSkipped ? comeBack() : sleepUntilCalled())
    else pause = FIRST_PAUSE
    return events
  }

  async function comeBack(): Promise<void> {
    const end = clock.now() + pause
    await sleepTo(() => end)
    pause = Math.min(LONGEST_PAUSE, pause * 2)
  }

  // The look goes on beside the sleep: it may take long, and what is published now need not wait for it.
  async function sleepUntilCalled(): Promise<void> {
    pause = FIRST_PAUSE
    const began = clock.now()
    let end = began + bell.patience
    const seen = (look: Look): void => {
      putOffAt = look === 'put off' ? (putOffAt ?? began) : null
      if (putOffAt !== null) end = Math.min(end, putOffAt + LOOK_WITHIN)
      if (look === 'found') isCalled = true
      bell.ring()
    }
    // One that failed is made again, after the round that finds out why.
    const isOwed = putOffAt !== null && began - putOffAt >= LOOK_WITHIN
    sequencer.look(isOwed).then(seen, () => seen('put off'))
    await sleepTo(() => end)
  }

  // Rung also for offsets that this reader gave, or has read already.
  async function sleepTo(end: () => number): Promise<void> {
    while (!isCalled && head <= readTo && !signal.aborted && clock.now() < end()) {
      await bell.wait(Math.min(end() - clock.now(), bell.patience))
    }
  }

  return {
    async next(after, most) {
      while (!signal.aborted) {
        const events = await repeat(repeated, () => attempt(after, most))
        if (events.length > 0) return events
      }
      return []
    },
    [Symbol.dispose]() {
      signal.removeEventListener('abort', bell.ring)
      bell[Symbol.dispose]()
    },
  }
}
