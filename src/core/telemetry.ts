import { channel, tracingChannel } from 'node:diagnostics_channel'
import type { Channel, TracingChannel } from 'node:diagnostics_channel'

/**
 * What happens inside is published once on `node:diagnostics_channel`, and costs a look at a flag
 * while nobody listens. Loggers, tracers and metrics are listeners in `telemetry/`; no other code
 * logs, counts or traces. Messages never hold payloads or parameters.
 */

/** Which client a message is from: two in one process do not hear each other's. */
export interface Origin {
  readonly schema: string
  readonly prefix: string
}

/** One statement, by name: `millrace:statement`. */
export interface StatementContext {
  readonly origin: Origin
  readonly statement: string
  readonly lane: string
}

/** One run, from claim to the decision about it: `millrace:run`. */
export interface RunContext {
  readonly origin: Origin
  readonly id: string
  readonly kind: string
  readonly queue: string
  readonly run: number
  readonly worker: string
}

/** Something an operator should know: `millrace:notice`. */
export interface Notice {
  readonly origin: Origin
  readonly level: 'error' | 'warn' | 'info' | 'debug'
  readonly message: string
  readonly facts: Readonly<Record<string, unknown>>
}

export const statementChannel: TracingChannel<StatementContext, StatementContext> =
  tracingChannel('millrace:statement')
export const runChannel: TracingChannel<RunContext, RunContext> = tracingChannel('millrace:run')
export const noticeChannel: Channel = channel('millrace:notice')

export function notice(message: Notice): void {
  if (noticeChannel.hasSubscribers) noticeChannel.publish(message)
}
