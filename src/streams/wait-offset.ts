import type { Clock } from '../core/clock.ts'
import type { Executor } from '../database/executor.ts'
import { repeat } from '../database/repeat.ts'
import { ClosedError } from '../errors.ts'
import type { Bells } from './bells.ts'
import { eventOffsetOf } from './position-statements.ts'
import type { Sequencers } from './sequence.ts'

export interface WaitOffsetParts {
  readonly executor: Executor
  readonly sequencers: Sequencers
  readonly bells: Bells
  readonly closed: AbortSignal
}

// What no hint tells is looked for so often.
const POLL = 1_000
const OUTLAST = 10_000

/** The offset of an event once it has one; waits for its commit. */
export async function waitForOffset(
  event: { readonly stream: string; readonly id: string },
  signal: AbortSignal | undefined,
  { executor, sequencers, bells, closed }: WaitOffsetParts,
): Promise<number> {
  const { clock } = executor
  const sequencer = sequencers.of(event.stream)
  using bell = bells.hang((hint) => {
    return hint.type === 'resync' || ('stream' in hint && hint.stream === event.stream)
  })
  const either = signal === undefined ? closed : AbortSignal.any([signal, closed])
  either.addEventListener('abort', bell.ring)
  try {
    for (;;) {
      signal?.throwIfAborted()
      if (closed.aborted) throw new ClosedError()
      const offset = await look()
      if (offset !== undefined) return offset
      await bell.wait(POLL)
    }
  } finally {
    either.removeEventListener('abort', bell.ring)
  }

  async function look(): Promise<number | undefined> {
    return repeat({ clock, until: outlasting(clock) }, async () => {
      await sequencer.look(true)
      await sequencer.catchUp()
      const [row] = await executor.lane('read').run(eventOffsetOf, event)
      return row?.event_offset
    })
  }
}

function outlasting(clock: Clock): () => number {
  const end = clock.now() + OUTLAST
  return () => end
}
