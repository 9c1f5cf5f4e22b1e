import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'

/** A TCP proxy before the server, to do to a connection what networks and poolers do. */
export interface Proxy extends AsyncDisposable {
  /** The URL with this proxy in the server's place. */
  readonly url: string
  readonly port: number
  /** Drops whatever comes, in both directions, and says nothing: a half-open connection. */
  freeze(): void
  /** Passes on again what comes from now on. */
  thaw(): void
  /** Drops for ever whatever comes on the connections made so far; those that come later are passed on. */
  silence(): void
  /** Takes no new connections; those that are there stay. */
  refuseMore(): void
  /** Resets every connection. */
  reset(): void
  /**
   * Arms the proxy for the next message to the server that holds `text` (a statement's name): it is
   * passed on, and once the server has answered, the connection is reset in place of the answer.
   * Resolves when that has happened.
   */
  loseAnswer(text: string): Promise<void>
  /** How many connections were made to it. */
  readonly connections: number
  close(): Promise<void>
}

export interface ProxyOptions {
  /** Looks at the first message of a client; answers what to send back instead of connecting it. */
  readonly refuse?: ((startup: Buffer) => Buffer | undefined) | undefined
}

export async function proxyTo(target: string, options: ProxyOptions = {}): Promise<Proxy> {
  const server = new URL(target)
  const sockets = new Set<Socket>()
  let connections = 0
  let isFrozen = false
  let silenced = 0
  let loss: Loss | undefined

  function track(socket: Socket): Socket {
    sockets.add(socket)
    socket.on('error', () => {})
    socket.on('close', () => sockets.delete(socket))
    return socket
  }

  const forward = (number: number, from: Socket, to: Socket) => (data: Buffer) => {
    if (isFrozen) from.pause()
    else if (number > silenced) to.write(data)
  }

  const listener = createServer((client) => {
    connections += 1
    const number = connections
    track(client).once('data', (startup) => {
      const refusal = options.refuse?.(startup)
      if (refusal !== undefined) {
        client.end(refusal)
        return
      }
      const upstream = track(connect(Number(server.port), server.hostname))
      upstream.write(startup)
      let losing: Loss | undefined
      let tail: Buffer = Buffer.alloc(0)
      const ask = forward(number, client, upstream)
      const answer = forward(number, upstream, client)
      client.on('data', (data) => {
        if (loss !== undefined && data.includes(loss.text)) [losing, loss] = [loss, undefined]
        ask(data)
      })
      upstream.on('data', (data) => {
        if (losing === undefined) {
          answer(data)
          return
        }
        tail = Buffer.concat([tail, data]).subarray(-READY.length)
        if (!tail.equals(READY)) return
        client.resetAndDestroy()
        losing.happened()
      })
      client.on('close', () => upstream.destroy())
      upstream.on('close', () => client.destroy())
    })
  }).listen(0, '127.0.0.1')
  await once(listener, 'listening')
  const address = listener.address()
  if (address === null || typeof address === 'string') throw new Error('the proxy has no port')

  const url = new URL(target)
  url.port = String(address.port)
  async function close(): Promise<void> {
    for (const socket of sockets) socket.destroy()
    if (!listener.listening) return
    listener.close()
    await once(listener, 'close')
  }
  return {
    url: url.href,
    port: address.port,
    freeze: () => {
      isFrozen = true
    },
    thaw: () => {
      isFrozen = false
    },
    silence: () => {
      silenced = connections
    },
    refuseMore: () => {
      listener.close()
    },
    reset: () => {
      for (const socket of sockets) socket.resetAndDestroy()
    },
    loseAnswer: (text) =>
      new Promise((happened) => {
        loss = { text, happened }
      }),
    get connections() {
      return connections
    },
    close,
    [Symbol.asyncDispose]: close,
  }
}

interface Loss {
  readonly text: string
  readonly happened: () => void
}

// ReadyForQuery, outside a transaction: only then is it certain that the statement has committed.
const READY = Buffer.from('Z\0\0\0\x05I', 'latin1')
