import { DatabaseError } from '../../errors.ts'
import type { Engine, ListenHandlers, Listening, Session, SessionOptions } from '../database.ts'
import { within } from './deadline.ts'
import { listenOn } from './listening.ts'
import { LOOK, lookedAt, pinnedBegin, sessionSettings } from './pinning.ts'
import type { Look } from './pinning.ts'
import { sessionOn } from './session.ts'
import { translateError } from './translate-error.ts'
import { turns } from './turns.ts'
import { CONNECT_WITHIN } from './wire.ts'
import type { OpenWire, Wire, WireOptions } from './wire.ts'

/**
 * The engine over a PostgreSQL server, for any library that can open a connection: pins the
 * settings that a role or a database may have set otherwise, goes from host to host for one that
 * takes writes, and closes whatever it opened.
 */
export function serverEngine(driver: Engine['driver'], hosts: readonly OpenWire[]): Engine {
  return new ServerEngine(driver, hosts)
}

class ServerEngine implements Engine {
  readonly driver: Engine['driver']
  readonly isSingleConnection = false
  readonly #hosts: readonly OpenWire[]
  /** With the host of each. */
  readonly #wires = new Map<Wire, number>()
  #preferred = 0
  #isPinning = true
  #isClosed = false

  constructor(driver: Engine['driver'], hosts: readonly OpenWire[]) {
    this.driver = driver
    this.#hosts = hosts
  }

  async connect(options: SessionOptions): Promise<Session> {
    const settings = sessionSettings(options)
    const { wire, look } = await this.#open({
      applicationName: `millrace ${options.purpose}`,
      settings,
      prepare: options.prepare ?? true,
    })
    return sessionOn(wire, {
      takeTurn: turns(),
      timeoutMs: options.timeoutMs,
      ...(look.isPinned ? {} : { begin: pinnedBegin(settings), isBracketed: !look.isSound }),
    })
  }

  listen(channel: string, handlers: ListenHandlers): Promise<Listening> {
    return listenOn(async (options) => (await this.#open(options)).wire, channel, handlers)
  }

  async close(): Promise<void> {
    this.#isClosed = true
    await Promise.all([...this.#wires.keys()].map((wire) => wire.end()))
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  // PgBouncer refuses startup packets with settings it does not know (08P01). Then we do without: see
  // `pinning.ts`. It says the same when it has no connection left, which passes: only what names the
  // settings is remembered.
  async #open(options: WireOptions): Promise<Opened> {
    if (!this.#isPinning) return this.#openAny({ ...options, settings: {} })
    try {
      return await this.#openAny(options)
    } catch (error) {
      if (!(error instanceof DatabaseError) || error.sqlstate !== '08P01') throw error
      const opened = await this.#openAny({ ...options, settings: {} })
      this.#isPinning = !/parameter|option/i.test(error.message)
      return opened
    }
  }

  // The host that was right last time comes first: after a failover the dead one may cost its
  // whole timeout with every connection.
  async #openAny(options: WireOptions): Promise<Opened> {
    let failure: unknown
    const first = this.#preferred
    for (let step = 0; step < this.#hosts.length; step += 1) {
      const index = (first + step) % this.#hosts.length
      try {
        const opened = await this.#openHost(index, options)
        this.#preferred = index
        return opened
      } catch (error) {
        failure = error
      }
    }
    throw translateError(failure, { statement: null, mayHaveApplied: false })
  }

  async #openHost(index: number, options: WireOptions): Promise<Opened> {
    const open = this.#hosts[index]
    if (open === undefined || this.#isClosed) throw closedError()
    let wire: Wire | undefined
    const onGone = (error: unknown) => {
      if (wire !== undefined) this.#wires.delete(wire)
      options.onGone?.(error)
    }
    wire = await open({ ...options, onGone })
    this.#wires.set(wire, index)
    if (this.#isClosed) {
      await wire.end()
      throw closedError()
    }
    const look = await lookAt(wire)
    if (!look.takesWrites && this.#hosts.length > 1) {
      wire.destroy()
      throw readOnlyError()
    }
    this.#leaveOthers(index)
    return { wire, look }
  }

  // One host takes writes at a time. Connections to another are to a server that was left, perhaps
  // without a word: what waits there for an answer would wait as long as it may.
  #leaveOthers(index: number): void {
    for (const [wire, host] of this.#wires) if (host !== index) wire.destroy()
  }
}

interface Opened {
  readonly wire: Wire
  readonly look: Look
}

async function lookAt(wire: Wire): Promise<Look> {
  try {
    const [row] = await within(CONNECT_WITHIN, wire.query(LOOK), unansweredError)
    return lookedAt(row)
  } catch (error) {
    wire.destroy()
    throw error
  }
}

function unansweredError(): DatabaseError {
  return new DatabaseError(
    `the server took the connection, and its first statement had no answer after ${CONNECT_WITHIN} ms. ` +
      'A pooler without a free connection keeps its clients waiting so: raise its default_pool_size.',
    { sqlstate: null, statement: null, retryable: true, outcomeUnknown: false },
  )
}

function closedError(): DatabaseError {
  return new DatabaseError('this engine is closed; open() a new client', {
    sqlstate: null,
    statement: null,
    retryable: false,
    outcomeUnknown: false,
  })
}

function readOnlyError(): DatabaseError {
  return new DatabaseError('none of the hosts takes writes. Check which one is the primary.', {
    sqlstate: '25006',
    statement: null,
    retryable: true,
    outcomeUnknown: false,
  })
}
