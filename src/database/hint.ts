/**
 * What a notification on a namespace's channel tells: hints only, polling is the truth. `resync` is
 * made here and never sent: notifications may have been missed, so look at everything.
 */
export type WakeHint = DueHint | { readonly type: 'resync' }

/** A job of this queue is due at this instant (milliseconds since the Unix epoch), past or future. */
export interface DueHint {
  readonly type: 'due'
  readonly queue: string
  readonly dueAt: number
}

/**
 * Reads a payload: `due <milliseconds since the epoch> <queue>`, where the queue is the rest,
 * whatever it holds. Answers undefined for anything else: a newer release may send more words.
 */
export function parseHint(payload: string): DueHint | undefined {
  const [, dueAt, queue] = DUE.exec(payload) ?? []
  if (dueAt === undefined || queue === undefined) return undefined
  return { type: 'due', queue, dueAt: Number(dueAt) }
}

// SQL may send a fraction of a millisecond with it.
const DUE = /^due (-?\d{1,15}(?:\.\d+)?) (.+)$/s
