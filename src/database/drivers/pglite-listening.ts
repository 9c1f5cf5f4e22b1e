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
  const name = quoted(channel)
  await takeTurn(() => database.listen(name, deliver, transaction()))

  async function close(): Promise<void> {
    if (!isLive) return
    isLive = false
    if (database.closed) return
    // Of no consequence when the connection is held: nothing is delivered any more.
    await takeTurn(() => database.unlisten(name, deliver, transaction())).catch(() => {})
  }
  return {
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
