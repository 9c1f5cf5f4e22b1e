import type { ListenHandlers, Listening } from '../database.ts'
import { quoted } from '../namespace.ts'
import { within } from './deadline.ts'
import { disconnected, translateError } from './translate-error.ts'
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

  const wire = await open({
    applicationName: 'millrace listen',
    settings: {},
    prepare: false,
    onNotification: (from, payload) => {
      if (from === channel && isLive) handlers.onNotification(payload)
    },
    onGone: lose,
  })
  await answered(wire, 'listen', CONNECT_WITHIN, () => wire.execute(`listen ${quoted(channel)}`))
  isLive = true

  async function close(): Promise<void> {
    isLive = false
    await wire.end()
  }
  return {
    ping: (timeoutMs) => answered(wire, 'ping', timeoutMs, () => wire.execute('select 1')),
    close,
    [Symbol.asyncDispose]: close,
  }
}

async function answered(
  wire: Wire,
  statement: string,
  timeoutMs: number,
  send: () => Promise<void>,
): Promise<void> {
  const late = () =>
    disconnected(new Error(`no answer after ${timeoutMs} ms`), { statement, mayHaveApplied: false })
  try {
    await within(timeoutMs, send(), late)
  } catch (error) {
    wire.destroy()
    throw translateError(error, { statement, mayHaveApplied: false })
  }
}
