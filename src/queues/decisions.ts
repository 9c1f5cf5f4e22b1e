import type { Clock } from '../core/clock.ts'
import { bell } from '../core/wait.ts'
import type { Runner } from '../database/executor.ts'
import { repeat } from '../database/repeat.ts'
import type { Wakeups } from '../database/wakeups.ts'
import { decodeDefaults } from '../jobs/queue-defaults.ts'
import type { KnownDefaults } from '../jobs/queue-defaults.ts'
import type { Settings } from '../jobs/stamped-options.ts'
import { readQueues } from './statements.ts'
import type { QueueRow } from './statements.ts'

/**
 * What was decided about queues, as this client knows it: one copy for its producers and workers.
 * Read when first needed. Workers keep it fresh: by the hint that goes with each change, and by
 * reading it again, seldom with a listener, each second without. A client that only enqueues hears
 * nothing, so that what it knows may be five seconds old: half of that later an ask reads it again
 * beside, and only one that comes after a longer silence waits for the answer.
 */
export interface QueueDecisions extends KnownDefaults {
  isPaused(queue: string): boolean
  /** Resolves when anything is known at all: nothing is claimed before. Rejects when it cannot be read. */
  ready(runner: Runner): Promise<void>
  /** As for an ask, or younger than so many milliseconds. */
  fresh(oldest?: number): Promise<void> | undefined
  /** Reads again what may have changed; resolves with what is there after the call. */
  reload(runner: Runner): Promise<void>
  /** Keeps fresh what is known, until the function it answers is called. */
  watch(watcher: Watcher): () => Promise<void>
}

export interface Watcher {
  /** Where to read. */
  readonly runner: Runner
  readonly wakeups: Pick<Wakeups, 'subscribe' | 'isListening'>
  /** Something changed. */
  readonly onChange: () => void
  readonly onFailure: (error: unknown) => void
}

export interface DecisionsOptions {
  readonly clock: Clock
  /** Where asks read it: on the connection that they use anyway. */
  readonly asking: () => Runner
  /** Only this process can change anything (an embedded database): then no ask waits for a second look. */
  readonly isAlone: boolean
}

const OLDEST = 5_000
const HEARD_EVERY = 60_000
const BLIND_EVERY = 1_000
const WAIT_LIMIT = 10_000

export function queueDecisions(options: DecisionsOptions): QueueDecisions {
  const { clock, isAlone } = options
  const watchers = new Set<Watcher>()
  let paused: ReadonlySet<string> = new Set()
  let defaults: ReadonlyMap<string, Settings> = new Map()
  let seen: string | undefined
  let readAt = Number.NEGATIVE_INFINITY
  let reading: Promise<void> | undefined
  let nextReading: Promise<void> | undefined

  async function read(runner: Runner): Promise<void> {
    const began = clock.now()
    const rows = await runner.run(readQueues, {})
    readAt = began
    const text = JSON.stringify(rows)
    if (text === seen) return
    seen = text
    paused = new Set(rows.filter((row) => row.paused_at !== null).map(({ queue }) => queue))
    defaults = new Map(rows.flatMap(defaultsIn))
    for (const watcher of watchers) watcher.onChange()
  }

  // One at a time, or an older answer could replace a newer one; and a call that finds one under way
  // waits for the next, since that one may have looked before the change.
  function reload(runner: Runner): Promise<void> {
    if (reading === undefined) {
      reading = read(runner).finally(() => {
        reading = undefined
      })
      return reading
    }
    nextReading ??= reading
      .catch(() => undefined)
      .then(() => {
        nextReading = undefined
        return reload(runner)
      })
    return nextReading
  }

  function fresh(oldest: number = OLDEST): Promise<void> | undefined {
    const age = clock.now() - readAt
    const isKnown = seen !== undefined
    if (age < oldest / 2 || (isKnown && watchers.size > 0)) return undefined
    if (age >= oldest && !(isKnown && isAlone)) return patiently()
    // What the answer changes is for the next ask.
    if (reading === undefined) reload(options.asking()).catch(() => undefined)
    return undefined
  }

  /** As long as an ask itself would try. */
  function patiently(): Promise<void> {
    const end = clock.now() + WAIT_LIMIT
    return repeat({ clock, until: () => end }, () => reload(options.asking()))
  }

  function watch(watcher: Watcher): () => Promise<void> {
    const { runner, wakeups, onFailure } = watcher
    const alarm = bell(clock)
    const unsubscribe = wakeups.subscribe(({ type }) => {
      if (type === 'queues' || type === 'resync') reload(runner).catch(onFailure)
    })
    watchers.add(watcher)
    const watching = keepFresh(watcher, alarm.wait)
    return () => {
      unsubscribe()
      watchers.delete(watcher)
      alarm.ring()
      return watching
    }
  }

  // Asked each second, since a listener may be lost at any time; read only when it is time.
  async function keepFresh(
    watcher: Watcher,
    pause: (ms: number) => Promise<unknown>,
  ): Promise<void> {
    const { runner, wakeups, onFailure } = watcher
    while (watchers.has(watcher)) {
      const every = wakeups.isListening ? HEARD_EVERY : BLIND_EVERY
      if (clock.now() - readAt >= every) await reload(runner).catch(onFailure)
      await pause(BLIND_EVERY)
    }
  }

  return {
    isPaused: (queue) => paused.has(queue),
    async ready(runner) {
      if (seen === undefined) await (reading ?? reload(runner))
    },
    defaultsOf: (queue) => defaults.get(queue),
    fresh,
    reload,
    watch,
  }
}

function defaultsIn({ queue, defaults }: QueueRow): readonly (readonly [string, Settings])[] {
  return defaults === null ? [] : [[queue, decodeDefaults(defaults)]]
}
