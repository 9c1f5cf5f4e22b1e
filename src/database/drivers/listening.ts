import type { ListenHandlers, Listening } from '../database.ts'
import { quoted } from '../namespace.ts'
import { within } from './deadline.ts'
import { disconnected, translateError } from './translate-error.ts'
import { turns } from './turns.ts'
import { CONNECT_WITHIN, type OpenWire, type Wire } from './wire.ts'

/** A connection that does nothing but listen, over any library's. */
export async function listenOn(
  open: OpenWire,
  channel: string,
  handlers: ListenHandlers,
): Promise<Listening> {
  let isLive = false
  function lose(error: unknown): void {
    if (!isLive) return
    isLive = false
    handlers.onLost(error)
  }

  const others = new Map<string, (payload: string) => void>()
  const takeTurn = turns()
  const wire = await open({
    applicationName: 'millrace listen',
    settings: {},
    prepare: false,
    onNotification: (from, payload) => {
      if (!isLive) return
      if (from === channel) handlers.onNotification(payload)
      else others.get(from)?.(payload)
    },
    onGone: lose,
  })
  const listen = { statement: 'listen', text: `listen ${quoted(channel)}` }
  await answered(wire, listen, CONNECT_WITHIN)
  isLive = true

  async function close(): Promise<void> {
    isLive = false
    await wire.end()
  }
  const ask = (question: Question, timeoutMs: number): Promise<void> =>
    takeTurn(() => answered(wire, question, timeoutMs))
  return {
    ping: (timeoutMs) => ask({ statement: 'ping', text: 'select 1' }, timeoutMs),
    async add(other, onNotification) {
      others.set(other, onNotification)
      await ask({ statement: 'listen', text: `listen ${quoted(other)}` }, CONNECT_WITHIN)
    },
    async remove(other) {
      others.delete(other)
      await ask({ statement: 'unlisten', text: `unlisten ${quoted(other)}` }, CONNECT_WITHIN)
    },
    close,
    [Symbol.asyncDispose]: close,
  }
}

interface Question {
  readonly statement: string
  readonly text: string
}

// On this connection there is nothing to lose: whatever fails ends it.
async function answered(
  wire: Wire,
  { statement, text }: Question,
  timeoutMs: number,
): Promise<void> {
  const circumstances = { statement, mayHaveApplied: false }
  const late = () => disconnected(new Error(`no answer after ${timeoutMs} ms`), circumstances)
  try {
    await within(timeoutMs, wire.execute(text), late)
  } catch (error) {
    wire.destroy()
    throw translateError(error, circumstances)
  }
}
