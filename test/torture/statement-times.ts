import { subscribe, unsubscribe } from 'node:diagnostics_channel'

/** One statement as this process saw it: from being sent to its rows. */
export interface StatementTime {
  readonly statement: string
  readonly ms: number
  readonly rows: number
}

/**
 * Listens to the statements that the clients of this process send on one lane, as any tracer would.
 * `schema` tells one client from another.
 */
export function statementTimes(
  about: { readonly lane: string; readonly schema?: string },
  told: (time: StatementTime) => void,
): () => void {
  const begun = new WeakMap<object, number>()

  function isMeant(message: unknown): message is Message {
    if (!isMessage(message) || message.lane !== about.lane) return false
    return about.schema === undefined || message.origin.schema === about.schema
  }

  function onStart(message: unknown): void {
    if (isMeant(message)) begun.set(message, performance.now())
  }

  function onEnd(message: unknown): void {
    if (!isMeant(message)) return
    const { statement, result } = message
    const began = begun.get(message)
    if (began === undefined || !Array.isArray(result)) return
    told({ statement, ms: performance.now() - began, rows: result.length })
  }

  subscribe(START, onStart)
  subscribe(END, onEnd)
  return () => {
    unsubscribe(START, onStart)
    unsubscribe(END, onEnd)
  }
}

const START = 'tracing:millrace:statement:start'
const END = 'tracing:millrace:statement:asyncEnd'

interface Message {
  readonly origin: { readonly schema: string }
  readonly statement: string
  readonly lane: string
  readonly result?: unknown
}

function isMessage(message: unknown): message is Message {
  return typeof message === 'object' && message !== null && 'lane' in message && 'origin' in message
}
