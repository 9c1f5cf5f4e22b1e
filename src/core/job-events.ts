import { channel } from 'node:diagnostics_channel'
import type { Channel } from 'node:diagnostics_channel'
import type { Origin } from './telemetry.ts'

/**
 * What becomes of jobs, told once it is committed, by the process that did it: `millrace:job`. A
 * job that another process runs is told of there. While nobody subscribes, an event costs one small
 * object and a look at a flag, so that it can be told for every job (H6).
 */
export type JobEventName =
  | 'created'
  | 'started'
  | 'completed'
  | 'retried'
  | 'paused'
  | 'released'
  | 'recovered'
  | 'merged'
  | 'cancelled'
  | 'dead'

/** A message on `millrace:job`. Never a payload, a result or an error: those are in the record and the journal. */
export interface JobEvent {
  readonly origin: Origin
  readonly event: JobEventName
  readonly id: string
  readonly kind: string
  readonly queue: string
  /** The run it tells of, or the last before it; 0 where it has not run. */
  readonly run: number
  /** Who ran it; for `recovered` the worker that was lost. Null where no run is told of. */
  readonly worker: string | null
  /** For `merged`: the id of the ask that this job now stands for. Else null. */
  readonly asked: string | null
  /** Written in a transaction that was still open: a rollback takes it back without a word. */
  readonly inTransaction: boolean
  /** When it was told, by the client's clock. */
  readonly at: Date
}

/** What whoever tells an event knows. */
export interface ToldJob {
  readonly id: string
  readonly kind: string
  readonly queue: string
  readonly run?: number
  readonly worker?: string
  readonly asked?: string
  readonly inTransaction?: boolean
}

/** The events of one client. */
export interface JobEvents {
  tell(event: JobEventName, job: ToldJob): void
  /** Hears this client's events, in the client itself: counts. The function it answers ends that. */
  hear(listener: (event: JobEventName, job: ToldJob) => void): () => void
}

export const jobChannel: Channel = channel('millrace:job')

export function jobEvents(origin: Origin, now: () => number): JobEvents {
  const listeners = new Set<(event: JobEventName, job: ToldJob) => void>()
  return {
    tell(event, job) {
      for (const listener of listeners) listener(event, job)
      if (jobChannel.hasSubscribers) jobChannel.publish(messageOf(event, job, { origin, now }))
    },
    hear(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
  }
}

function messageOf(
  event: JobEventName,
  job: ToldJob,
  { origin, now }: { readonly origin: Origin; readonly now: () => number },
): JobEvent {
  const { id, kind, queue, run = 0, worker = null, asked = null, inTransaction = false } = job
  return { origin, event, id, kind, queue, run, worker, asked, inTransaction, at: new Date(now()) }
}
