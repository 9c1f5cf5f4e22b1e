import { connect, type Socket } from 'node:net'
import { callMethod, hasMethod, property, textProperty } from './property.ts'
import { CONNECT_WITHIN } from './wire.ts'

export interface Host {
  readonly name: string
  readonly port: number
}

/**
 * The socket of a postgres.js instance, made by us, so that it can be dropped, and made once: an
 * instance that asks for a second one wants to reconnect.
 */
export class OneSocket {
  readonly #given: object
  readonly #host: Host
  #socket: unknown
  #isAsked = false
  #isDropped = false

  /** `given` are the caller's options: a way to connect of his own (`socket`, `path`) is kept. */
  constructor(given: object, host: Host) {
    this.#given = given
    this.#host = host
  }

  async open(options: object): Promise<unknown> {
    if (this.#isAsked) throw new Error('Connection terminated')
    this.#isAsked = true
    this.#socket = hasMethod(this.#given, 'socket')
      ? await callMethod(this.#given, 'socket', options)
      : await connectedSocket(this.#host, textProperty(this.#given, 'path'))
    if (this.#isDropped) this.drop()
    return this.#socket
  }

  drop(): void {
    this.#isDropped = true
    if (property(this.#socket, 'destroyed') !== true) callMethod(this.#socket, 'destroy')
  }
}

function connectedSocket(host: Host, path: string | undefined): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = path === undefined ? connect(host.port, host.name) : connect(path)
    // Where the library finds the name to verify the certificate against.
    Object.assign(socket, { host: host.name, port: host.port })
    socket.setTimeout(CONNECT_WITHIN, () => socket.destroy(new Error('timeout expired')))
    socket.once('error', reject)
    socket.once('connect', () => {
      socket.setTimeout(0)
      socket.removeListener('error', reject)
      resolve(socket)
    })
  })
}
