import type { Clock } from '../core/clock.ts'
import { bell } from '../core/wait.ts'
import type { Lane } from '../database/executor.ts'
import type { WakeHint } from '../database/hint.ts'
import { decodeJson } from '../core/json.ts'
import { endedHeads, forgetMessages, takeTurns } from './turn-statements.ts'
import type { EndedHeadsRow, TurnRow } from './turn-statements.ts'

/**
 * Gives messages their turn, in every worker that delivers an outbox. A message that arrived is
 * announced by a hint, and whoever settles a head says that its key is free; both lead to one
 * statement for all keys at hand. What nobody told is looked for: messages whose hint was lost, and
 * heads that ended by a cancel, an expiry, a recovery, or a worker that died before it told. That
 * look is made each second while any message has its turn.
 */
export interface Turns {
  run(): Promise<void>
  hear(hint: WakeHint): void
  /** Runs were settled. */
  ended(runs: readonly EndedRun[]): void
  stop(): void
}

export interface EndedRun {
  readonly kind: string
  readonly dedup_key: string | null
  readonly outcome: string
}

export interface TurnsOptions {
  readonly clock: Clock
  readonly lane: Lane
  /** The outboxes that this worker delivers. */
  readonly outboxes: ReadonlySet<string>
  readonly isListening: () => boolean
  readonly hintUntil: () => string
  /** Messages are due now: where hints are not sent, the worker would only see at its next poll. */
  readonly onGiven: () => void
  readonly onFailure: (error: unknown) => void
}

interface Key {
  readonly kind: string
  readonly key: string
}

const WHILE_BUSY = 1_000
const NOW_AND_THEN = 30_000
const FORGET_EVERY = 60_000
const FIRST_RETRY = 5
const MOST_KEYS = 200
// So many heads are looked at in each second.
const SLICE = 5_000

export function turns(options: TurnsOptions): Turns {
  const { clock, lane, outboxes, hintUntil } = options
  const alarm = bell(clock)
  const freed = new Map<string, Key>()
  const heads = headWalk(lane)
  const forgetting = forgetter(lane)
  let isBusy = false
  let stopped = false
  let retry = FIRST_RETRY
  let looksAt = Number.NEGATIVE_INFINITY
  let forgetsAt = Number.NEGATIVE_INFINITY

  async function run(): Promise<void> {
    while (!stopped) await alarm.wait(await pass())
    // What was settled last: nobody may be there to look for it.
    if (freed.size > 0) await give().catch(options.onFailure)
  }

  /** One statement, and how long to wait after it. */
  async function pass(): Promise<number> {
    try {
      if (clock.now() >= looksAt) await look()
      return await give()
    } catch (error) {
      isBusy = true
      options.onFailure(error)
      return WHILE_BUSY
    }
  }

  /** For heads that ended without a word, and now and then for places that nobody needs. */
  async function look(): Promise<void> {
    free(await heads.next())
    if (clock.now() >= forgetsAt) {
      await forgetting.next()
      forgetsAt = clock.now() + FORGET_EVERY
    }
    looksAt = clock.now() + pause()
  }

  async function give(): Promise<number> {
    const keys = [...freed.values()].slice(0, MOST_KEYS)
    forget(keys)
    const params = { keys: JSON.stringify(keys), most: MOST_KEYS, hint_until: hintUntil() }
    const [row] = await lane.run(takeTurns, params).catch((error: unknown) => {
      free(keys)
      throw error
    })
    if (row === undefined) return WHILE_BUSY
    setBusy(row.is_busy)
    if (row.given > 0) options.onGiven()
    if (row.is_more) free(keys)
    return row.is_more ? again(row) : untilNext()
  }

  /** At once while it gets on; where others hold what is left, later and later, and with a look. */
  function again({ given, cleared }: TurnRow): number {
    if (given + cleared > 0) {
      retry = FIRST_RETRY
      return 0
    }
    looksAt = clock.now()
    retry = Math.min(WHILE_BUSY, retry * 2)
    return retry
  }

  function untilNext(): number {
    retry = FIRST_RETRY
    return freed.size > 0 ? 0 : Math.max(0, looksAt - clock.now())
  }

  function setBusy(now: boolean): void {
    isBusy = now
    looksAt = Math.min(looksAt, clock.now() + pause())
  }

  function free(keys: readonly Key[]): void {
    for (const { kind, key } of keys) freed.set(nameOf({ kind, key }), { kind, key })
  }

  function forget(keys: readonly Key[]): void {
    for (const key of keys) freed.delete(nameOf(key))
  }

  /** Without a listener nobody says that a message arrived. */
  function pause(): number {
    return isBusy || !options.isListening() ? WHILE_BUSY : NOW_AND_THEN
  }

  return {
    run,
    hear({ type }) {
      if (type === 'resync') looksAt = Number.NEGATIVE_INFINITY
      if (type === 'outbox' || type === 'resync') alarm.ring()
    },
    ended(runs) {
      const keys = runs.flatMap(({ kind, dedup_key: key, outcome }) =>
        key !== null && outboxes.has(kind) && ENDINGS.has(outcome) ? [{ kind, key }] : [],
      )
      if (keys.length === 0) return
      free(keys)
      alarm.ring()
    },
    stop() {
      stopped = true
      alarm.ring()
    },
  }
}

const ENDINGS: ReadonlySet<string> = new Set(['completed', 'dead', 'cancelled'])

function nameOf({ kind, key }: Key): string {
  return `${kind.length} ${kind}${key}`
}

/** Walks the heads in slices, round and round; answers the keys of those that have ended. */
function headWalk(lane: Lane): { next(): Promise<readonly Key[]> } {
  let after = { after_kind: '', after_key: '' }
  return {
    async next() {
      const [row] = await lane.run(endedHeads, { ...after, most: SLICE })
      const isLast = row === undefined || row.looked_at < SLICE
      after = {
        after_kind: isLast ? '' : (row.last_kind ?? ''),
        after_key: isLast ? '' : (row.last_key ?? ''),
      }
      return keysOf(row)
    },
  }
}

/** The door where the statement's own JSON comes in. */
function keysOf(row: EndedHeadsRow | undefined): readonly Key[] {
  if (row === undefined || row.keys === null) return []
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the door itself
  return decodeJson(row.keys) as readonly Key[]
}

/** Walks the places of dead and cancelled messages in slices, and removes those without a record. */
function forgetter(lane: Lane): { next(): Promise<void> } {
  let after = '0'
  return {
    async next() {
      const [row] = await lane.run(forgetMessages, { after, most: SLICE })
      after = row === undefined || row.looked_at < SLICE ? '0' : (row.last ?? '0')
    },
  }
}
