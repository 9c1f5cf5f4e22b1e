import type { Ask } from '../jobs/ask.ts'
import type { OfferStart, Start } from '../jobs/starts.ts'
import type { ClaimedRow } from './claim-statements.ts'
import type { Slots } from './slots.ts'
import type { Strays } from './strays.ts'

/**
 * The worker's side of jobs that begin as they are written: it offers a slot while it rests, and
 * runs what it hears was committed. A statement without an answer is a claim without one: its leases
 * are looked for, and go back to their places (C8).
 */
export interface Starting {
  readonly offer: OfferStart
  /** Offers no more; what is under way is handed back when it comes. */
  stop(): void
  /** Resolves when nothing is under way. */
  idle(): Promise<void>
}

export interface StartingOptions {
  readonly worker: string
  readonly queues: readonly string[]
  readonly handles: (kind: string) => boolean
  readonly isPaused: (queue: string) => boolean
  /** Nothing known waits for a slot: who asks now overtakes nobody. */
  readonly isResting: () => boolean
  readonly slots: Slots
  readonly strays: Pick<Strays, 'begin' | 'answered' | 'lost'>
  readonly take: (rows: readonly ClaimedRow[]) => void
  readonly handBack: (rows: readonly ClaimedRow[]) => void
  /** A slot was kept in vain. */
  readonly onSlotGiven: () => void
  /** Leases may be there that nobody knows of. */
  readonly onLost: () => void
}

export function starting(options: StartingOptions): Starting {
  const { worker, slots, strays } = options
  let isStopped = false
  let underWay = 0
  let whenIdle: (() => void) | undefined

  function offer(ask: Ask): Start | null {
    if (!mayStart(ask)) return null
    const { kind, queue } = ask
    slots.take(kind, queue)
    underWay += 1
    let sentAt = 0

    function begin(): void {
      const rows = [rowOf(ask, sentAt)]
      slots.give(kind, queue)
      if (isStopped) options.handBack(rows)
      else options.take(rows)
      strays.answered(sentAt)
      close()
    }

    return {
      worker,
      sent(instant) {
        sentAt = instant
        strays.begin(instant)
      },
      // In a turn of its own, so that whoever asked hears of the job before it begins.
      begun: () => void setImmediate(begin),
      failed(isUncertain) {
        slots.give(kind, queue)
        if (isUncertain) strays.lost(sentAt)
        else strays.answered(sentAt)
        if (isUncertain) options.onLost()
        else options.onSlotGiven()
        close()
      },
    }
  }

  function mayStart({ kind, queue }: Ask): boolean {
    return (
      !isStopped &&
      options.isResting() &&
      options.handles(kind) &&
      options.queues.includes(queue) &&
      !options.isPaused(queue) &&
      Math.min(slots.idle, slots.freeOfKind(kind), slots.freeOfQueue(queue)) > 0
    )
  }

  function close(): void {
    underWay -= 1
    if (underWay === 0) whenIdle?.()
  }

  return {
    offer,
    stop() {
      isStopped = true
    },
    idle: () =>
      new Promise((resolve) => {
        whenIdle = resolve
        if (underWay === 0) resolve()
      }),
  }
}

/** What a claim would have brought. */
function rowOf(ask: Ask, startedAt: number): ClaimedRow {
  return {
    job_id: ask.id,
    run: 1,
    kind: ask.kind,
    queue: ask.queue,
    priority: ask.priority,
    failures: 0,
    due_at: startedAt,
    lease_ms: ask.leaseMs,
    lease_ends_at: startedAt + ask.leaseMs,
    payload: ask.payload,
    options: ask.policyText,
    carry: null,
  }
}
