import type { Clock } from '../core/clock.ts'
import { bell, wait } from '../core/wait.ts'
import type { Lane } from '../database/executor.ts'
import { forever, repeat } from '../database/repeat.ts'
import { LeaseLostError } from '../errors.ts'
import type { Bells } from './bells.ts'
import {
  keepConsumer,
  lookAtConsumer,
  releaseConsumer,
  takeConsumer,
} from './consumer-statements.ts'
import type { ConsumerPlace, ConsumerRow } from './consumer-statements.ts'

/**
 * The name of a consumer, held by one process at a time: a lease, and a token that grows with every
 * take and guards every write (T4). Who does not get it stands by: it tries again when it hears that
 * the name became free, and when the holder's lease ends. What was acknowledged is saved in the
 * background, the newest word only, at the latest after 100 ms, in the statement that renews.
 */
export interface Held {
  readonly token: number
  /** What was saved before; null: nothing yet. */
  readonly savedOffset: number | null
  /** Aborts with `LeaseLostError` when another process took the name. */
  readonly lost: AbortSignal
  /** The lease has ended as far as is known here: it was not renewed in time. */
  readonly isLapsed: boolean
  acknowledge(offset: number): void
  /** Resolves once the lease is renewed where it has lapsed. Rejects with `LeaseLostError`. */
  confirm(): Promise<void>
  /** Saves now what was acknowledged; rejects with `LeaseLostError`. */
  flush(): Promise<void>
  /** The saved offset as the database has it. Rejects with `LeaseLostError`. */
  standsAt(): Promise<number>
  /** The last word is saved, and the name is free for others at once. Never rejects: the lease ends by itself. */
  release(): Promise<void>
}

export interface ConsumerOptions {
  readonly place: ConsumerPlace
  /** Who takes it: readable, and never the same twice. */
  readonly holder: string
  readonly leaseMs: number
  readonly clock: Clock
  readonly lane: () => Lane
  readonly bells: Bells
  readonly isAnnounced: boolean
  readonly onFailure: (error: unknown) => void
}

const SAVE_WITHIN = 100
const SHORTEST_WAIT = 50
// Of a statement that is repeated in the background until the next one is due anyway.
const RELEASE_WITHIN = 2_000

/** Takes the name; waits until it is free. Null when the signal aborts first. */
export async function takeWhenFree(
  options: ConsumerOptions,
  signal: AbortSignal,
): Promise<Held | null> {
  const { place, holder, leaseMs, clock, lane, onFailure } = options
  using bell = options.bells.hang(
    (hint) => hint.type === 'resync' || (hint.type === 'consumer' && hint.stream === place.stream),
  )
  signal.addEventListener('abort', bell.ring)
  try {
    while (!signal.aborted) {
      const found = await repeat({ clock, until: forever, signal, onFailure }, async () => {
        const [taken] = await lane().run(takeConsumer, { ...place, holder, lease_ms: leaseMs })
        const [row] = await lane().run(lookAtConsumer, place)
        return { taken, row }
      })
      if (found.taken !== undefined) {
        return held(options, found.taken.token, found.row)
      }
      await bell.wait(Math.min(untilFree(found.row, clock.now()), bell.patience))
    }
    return null
  } finally {
    signal.removeEventListener('abort', bell.ring)
  }
}

function untilFree(row: ConsumerRow | undefined, now: number): number {
  return Math.max(SHORTEST_WAIT, (row?.lease_ends_at ?? now) - now + 1)
}

function held(options: ConsumerOptions, token: number, row: ConsumerRow | undefined): Held {
  const { place, leaseMs, clock, lane, isAnnounced, onFailure } = options
  const lost = new AbortController()
  const ended = new AbortController()
  const alarm = bell(clock)
  let leaseEndsAt = row?.lease_ends_at ?? clock.now()
  let acknowledged: number | null = null
  let saved: number | null = null
  let saving: Promise<void> | undefined
  const keeping = keep()

  async function keep(): Promise<void> {
    while (!isOver()) {
      await alarm.wait(leaseMs / 3)
      const isDue = clock.now() >= leaseEndsAt - (leaseMs * 2) / 3
      if (isOver() || (acknowledged === saved && !isDue)) continue
      // Not at once, so that what is acknowledged one by one is saved together.
      if (acknowledged !== saved)
        await wait(clock, Math.min(SAVE_WITHIN, leaseMs / 3), ended.signal)
      if (!isOver()) await save().catch(onFailure)
      // One that failed, or was skipped, comes again soon.
      if (acknowledged !== saved) alarm.ring()
    }
  }

  function isOver(): boolean {
    return ended.signal.aborted || lost.signal.aborted
  }

  function save(): Promise<void> {
    saving ??= saveOnce().finally(() => {
      saving = undefined
    })
    return saving
  }

  async function saveOnce(): Promise<void> {
    const offset = acknowledged
    const kept = { ...place, token, offset, lease_ms: leaseMs }
    const [row] = await lane().run(keepConsumer, kept)
    if (row !== undefined) {
      leaseEndsAt = row.lease_ends_at
      saved = offset
      return
    }
    // Skipped, or lost: only a second look tells.
    const [now] = await lane().run(lookAtConsumer, place)
    if (now === undefined || now.token !== token || now.holder === null) lose()
  }

  function lose(): void {
    const text =
      `consumer ${JSON.stringify(place.consumer)} of stream ${JSON.stringify(place.stream)} was taken by ` +
      'another process after its lease had ended. What was not acknowledged by then is read there; subscribe again to stand by.'
    lost.abort(new LeaseLostError(place.consumer, token, { text }))
  }

  async function flush(): Promise<void> {
    lost.signal.throwIfAborted()
    while (acknowledged !== saved) {
      // The one under way may have left before the newest word.
      await saving?.catch(() => undefined)
      const end = leaseEndsAt
      await repeat({ clock, until: () => end, onFailure }, save)
      lost.signal.throwIfAborted()
      if (acknowledged !== saved) await wait(clock, SHORTEST_WAIT)
    }
  }

  return {
    token,
    savedOffset: row?.saved_offset ?? null,
    lost: lost.signal,
    get isLapsed() {
      return clock.now() >= leaseEndsAt
    },
    acknowledge(offset) {
      if (acknowledged !== null && offset <= acknowledged) return
      acknowledged = offset
      alarm.ring()
    },
    async confirm() {
      for (let pause = SHORTEST_WAIT; clock.now() >= leaseEndsAt; pause = SHORTEST_WAIT * 4) {
        await repeat({ clock, until: forever, onFailure }, save)
        lost.signal.throwIfAborted()
        if (clock.now() >= leaseEndsAt) await wait(clock, pause, lost.signal)
      }
      lost.signal.throwIfAborted()
    },
    flush,
    async standsAt() {
      const [now] = await repeat({ clock, until: forever, onFailure }, () =>
        lane().run(lookAtConsumer, place),
      )
      if (now?.token !== token) lose()
      lost.signal.throwIfAborted()
      return now?.saved_offset ?? 0
    },
    async release() {
      ended.abort()
      alarm.ring()
      await keeping
      if (lost.signal.aborted) return
      const end = clock.now() + RELEASE_WITHIN
      const last = { ...place, token, offset: acknowledged, is_announced: isAnnounced }
      await repeat({ clock, until: () => end }, () => lane().run(releaseConsumer, last)).catch(
        onFailure,
      )
    },
  }
}
