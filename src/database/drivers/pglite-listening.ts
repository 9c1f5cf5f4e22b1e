import type { ListenHandlers, Listening } from '../database.ts'
import { quoted } from '../namespace.ts'
import type { PgliteConnection } from './pglite-connection.ts'

/**
 * Listening on PGlite's one connection. It is lost only when the database is closed, which nobody
 * announces: the ping finds it.
 */
export async function listenOnPglite(
  { database, takeTurn, transaction }: PgliteConnection,
  channel: string,
  handlers: ListenHandlers,
): Promise<Listening> {
  let isLive = true
  const deliver = (payload: string) => {
    if (isLive) handlers.onNotification(payload)
  }
  const callbacks = new Map<string, (payload: string) => void>()

  async function listen(name: string, callback: (payload: string) => void): Promise<void> {
    callbacks.set(name, callback)
    await takeTurn(() => database.listen(quoted(name), callback, transaction()))
  }

  async function unlisten(name: string): Promise<void> {
    const callback = callbacks.get(name)
    callbacks.delete(name)
    if (callback === undefined || database.closed) return
    await takeTurn(() => database.unlisten(quoted(name), callback, transaction()))
  }

  await listen(channel, deliver)

  async function close(): Promise<void> {
    if (!isLive) return
    isLive = false
    // Of no consequence when the connection is held: nothing is delivered any more.
    await Promise.all([...callbacks.keys()].map((name) => unlisten(name).catch(() => {})))
  }
  return {
    add: (name, onNotification) =>
      listen(name, (payload) => {
        if (isLive && callbacks.has(name)) onNotification(payload)
      }),
    remove: unlisten,
    async ping() {
      if (!database.closed) return
      const error = new Error('the embedded database was closed')
      if (isLive) handlers.onLost(error)
      isLive = false
      throw error
    },
    close,
    [Symbol.asyncDispose]: close,
  }
}
