import { instantText } from '../core/instant-text.ts'

/**
 * What a notification on a namespace's channel tells: hints only, polling is the truth. `resync` is
 * made here and never sent: notifications may have been missed, so look at everything.
 */
export type WakeHint = SentHint | { readonly type: 'resync' }

/** The hints that are sent. */
export type SentHint =
  | DueHint
  | CancelHint
  | JobHint
  | QueuesHint
  | SchedulesHint
  | RerunHint
  | OutboxHint
  | EventsHint
  | LockHint
  | StreamHint
  | SequencedHint

/** A job of this queue is due at this instant (milliseconds since the Unix epoch), past or future. */
export interface DueHint {
  readonly type: 'due'
  readonly queue: string
  readonly dueAt: number
}

/** A cancel was asked of a run of this worker, or a run was taken from it. */
export interface CancelHint {
  readonly type: 'cancel'
  readonly worker: string
}

/** `wait`: somebody waits for the end of this job. `ended`: a run of a job that somebody waits for was settled. */
export interface JobHint {
  readonly type: 'wait' | 'ended'
  readonly id: string
}

/** Something was decided about a queue: read them all again. */
export interface QueuesHint {
  readonly type: 'queues'
}

/** Schedules changed: look when the next fire is due. */
export interface SchedulesHint {
  readonly type: 'schedules'
}

/** What became of jobs elsewhere, in words that `jobs/event-text.ts` knows. */
export interface EventsHint {
  readonly type: 'events'
  readonly text: string
}

/** `lock`: a lock of this name was released by its holder. `unlock`: by somebody else, whom its holder does not know. */
export interface LockHint {
  readonly type: 'lock' | 'unlock'
  readonly name: string
}

/** An ask waits for the end of a run of its key: look for it each second until it is due. */
export interface RerunHint {
  readonly type: 'rerun'
}

/** A message with a key arrived, or its key was passed on: see whose turn it is. */
export interface OutboxHint {
  readonly type: 'outbox'
}

/** `stream`: something was published in it. `consumer`: the name of a consumer of it became free. */
export interface StreamHint {
  readonly type: 'stream' | 'consumer'
  readonly stream: string
}

/** Events of this stream got their offsets, up to this one. */
export interface SequencedHint {
  readonly type: 'sequenced'
  readonly stream: string
  readonly head: number
}

/**
 * Reads a payload: `due <milliseconds since the epoch> <queue>`, `cancel <worker>`, `wait <id>`,
 * `ended <id>`, `events <list>`, `lock <name>`, `unlock <name>`, `stream <name>`, `consumer <stream>`,
 * `sequenced <head> <stream>`, `queues`, `schedules`, `rerun` or `outbox`, where the last part is the rest,
 * whatever it holds. Answers undefined for anything else: a newer release may send more words.
 */
export function parseHint(payload: string): SentHint | undefined {
  if (isBare(payload)) return { type: payload }
  const [, dueAt, queue] = DUE.exec(payload) ?? []
  if (dueAt !== undefined && queue !== undefined) {
    return { type: 'due', queue, dueAt: Number(dueAt) }
  }
  const [, head, stream] = SEQUENCED.exec(payload) ?? []
  if (head !== undefined && stream !== undefined) {
    return { type: 'sequenced', stream, head: Number(head) }
  }
  const [, word, rest = ''] = NAMED.exec(payload) ?? []
  switch (word) {
    case 'cancel':
      return { type: 'cancel', worker: rest }
    case 'wait':
    case 'ended':
      return { type: word, id: rest }
    case 'events':
      return { type: word, text: rest }
    case 'lock':
    case 'unlock':
      return { type: word, name: rest }
    case 'stream':
    case 'consumer':
      return { type: word, stream: rest }
    default:
      return undefined
  }
}

type BareHint = QueuesHint | SchedulesHint | RerunHint | OutboxHint

function isBare(payload: string): payload is BareHint['type'] {
  return BARE.has(payload)
}

const BARE: ReadonlySet<string> = new Set(['queues', 'schedules', 'rerun', 'outbox'])

/** Until which instant a job is announced now; `-infinity` where hints are not sent at all. */
export function hintUntil(wake: 'listen' | 'poll', now: number): string {
  return wake === 'poll' ? '-infinity' : instantText(now + HINT_WITHIN)
}

// Jobs due within this are announced; beyond it polling is in time (E8).
const HINT_WITHIN = 30_000

// SQL may send a fraction of a millisecond with it.
const DUE = /^due (-?\d{1,15}(?:\.\d+)?) (.+)$/s
const NAMED = /^(cancel|wait|ended|events|lock|unlock|stream|consumer) (.+)$/s
const SEQUENCED = /^sequenced (\d{1,15}) (.+)$/s
