import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'
import { delayLine, type DelayLine } from './delay-line.ts'

/** A TCP proxy before the server, to do to a connection what networks and poolers do. */
export interface Proxy extends AsyncDisposable {
  /** The URL with this proxy in the server's place. */
  readonly url: string
  readonly port: number
  /**
   * Drops whatever comes, in both directions, and says nothing: a half-open connection. With a `name`
   * on those connections only whose startup message holds it (`application_name`).
   */
  freeze(name?: string): void
  /** All connections that are open die without a word; those that are made from now on are well. */
  bury(): void
  /** Passes on again what comes from now on; connections on which something was dropped stay dead. */
  thaw(): void
  /** Takes no new connections; those that are there stay. */
  refuseMore(): void
  /**
   * Ends the server's half of the connections that are dead, as keepalive does there after a while;
   * the clients are told nothing.
   */
  forgetDead(): void
  /** How long everything takes from now on, in milliseconds; Infinity: nothing gets through, and nothing is lost. */
  delay(ms: number): void
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
  /** How many of them are dead: something on them was dropped. */
  readonly deadConnections: number
  close(): Promise<void>
}

export interface ProxyOptions {
  /** Looks at the first message of a client; answers what to send back instead of connecting it. */
  readonly refuse?: ((startup: Buffer) => Buffer | undefined) | undefined
}

export async function proxyTo(target: string, options: ProxyOptions = {}): Promise<Proxy> {
  const server = new URL(target)
  const sockets = new Set<Socket>()
  const lines = new Set<DelayLine>()
  const open = new Map<Socket, Socket>()
  const dead = new Map<Socket, Socket>()
  let connections = 0
  let frozen: string | undefined
  let delayMs = 0
  let loss: Loss | undefined

  function track(socket: Socket): Socket {
    sockets.add(socket)
    socket.on('error', () => {})
    socket.on('close', () => sockets.delete(socket))
    return socket
  }

  function forward(from: Socket, to: Socket, isDropped: () => boolean): (data: Buffer) => void {
    const line = delayLine(to)
    line.setDelay(delayMs)
    lines.add(line)
    from.on('close', () => lines.delete(line))
    return (data) => {
      if (isDropped()) from.pause()
      else line.pass(data)
    }
  }

  const listener = createServer((client) => {
    connections += 1
    track(client).once('data', (startup) => {
      const refusal = options.refuse?.(startup)
      if (refusal !== undefined) {
        client.end(refusal)
        return
      }
      const upstream = track(connect(Number(server.port), server.hostname))
      upstream.write(startup)
      open.set(client, upstream)
      let losing: Loss | undefined
      let tail: Buffer = Buffer.alloc(0)
      const isDropped = (): boolean => {
        // A connection on which something was lost passes nothing any more, either way.
        if (dead.has(client)) return true
        if (frozen === undefined || !startup.includes(frozen)) return false
        dead.set(client, upstream)
        return true
      }
      const ask = forward(client, upstream, isDropped)
      const answer = forward(upstream, client, isDropped)
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
      client.on('close', () => {
        open.delete(client)
        dead.delete(client)
        upstream.destroy()
      })
      upstream.on('close', () => {
        if (!dead.has(client)) client.destroy()
      })
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
    freeze: (name = '') => {
      frozen = name
    },
    thaw: () => {
      frozen = undefined
    },
    bury: () => {
      for (const [client, upstream] of open) dead.set(client, upstream)
    },
    forgetDead: () => {
      for (const upstream of dead.values()) upstream.destroy()
    },
    delay: (ms) => {
      delayMs = ms
      for (const line of lines) line.setDelay(ms)
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
    get deadConnections() {
      return dead.size
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
