import { connect, type Socket } from 'node:net'
import type { Engine, Query, Row, Value } from '../database.ts'
import { demandWritable } from './connection-url.ts'
import { within } from './deadline.ts'
import { callMethod, hasMethod, property, textProperty } from './property.ts'
import { serverEngine } from './server-engine.ts'
import { CONNECT_WITHIN, END_WITHIN, type OpenWire, type Wire, type WireOptions } from './wire.ts'

/** What we need of a postgres.js `sql`: its configuration, never its connections. */
export interface PostgresJs {
  readonly options: object
}

/**
 * The engine over postgres.js. Each of its connections is an instance of our own with one
 * connection, made from the options of the caller's. An instance would reconnect by itself and
 * send the next statement on a connection that knows nothing of the last one; here it gets its
 * socket from us, and gets one only, so that a lost connection stays lost.
 */
export function postgresJsEngine(sql: PostgresJs): Engine {
  return serverEngine('postgres.js', hostsOf(sql.options))
}

/** The part of a postgres.js `sql`, or of its transactions, that runs a statement. */
export interface PostgresJsQueryable {
  unsafe(text: string, values: unknown[], options: object): PromiseLike<Iterable<Row>>
  typed(value: Value, type: number): unknown
}

/**
 * Runs a query on anything of postgres.js. Its serializers would re-encode text that the server
 * takes for json, an instant or a list (json twice, `infinity` not at all). A value of type
 * "unknown" passes as it is, and the server infers the type from the cast in the statement.
 */
export async function queryPostgresJs(
  sql: PostgresJsQueryable,
  query: Query,
  prepare: boolean,
): Promise<readonly Row[]> {
  const values = query.values.map((value) => (value === null ? null : sql.typed(value, UNKNOWN)))
  return [...(await sql.unsafe(query.text, values, { prepare, simple: false }))]
}

const UNKNOWN = 705

interface Instance extends PostgresJsQueryable {
  end(options: { timeout: number }): Promise<void>
}

function hostsOf(options: object): readonly OpenWire[] {
  const names = listOf(property(options, 'host'))
  const ports = listOf(property(options, 'port'))
  if (names.length > 1) {
    demandWritable(textProperty(options, 'target_session_attrs'))
  }
  return names.map((name, index): OpenWire => {
    const host = { name: String(name), port: Number(ports[index] ?? ports[0]) }
    return (wireOptions) => openInstance(options, host, wireOptions)
  })
}

interface Host {
  readonly name: string
  readonly port: number
}

async function openInstance(given: object, host: Host, options: WireOptions): Promise<Wire> {
  const postgres = await library()
  const line = oneSocket(given, host)
  let isGone = false
  const lose = () => {
    isGone = true
    options.onGone?.(new Error('the connection was closed'))
  }
  const sql = postgres({ ...instanceOptions(given, host, options), socket: line.open, onclose: lose })
  const destroy = () => {
    isGone = true
    line.destroy()
    sql.end({ timeout: 0 }).catch(() => {})
  }
  try {
    await within(CONNECT_WITHIN, run(sql, 'select 1'), () => new Error('timeout expired'))
  } catch (error) {
    destroy()
    throw error
  }
  return {
    query: (query) => queryPostgresJs(sql, query, options.prepare),
    execute: (text) => run(sql, text),
    get isGone() {
      return isGone
    },
    destroy,
    end: () => (isGone ? Promise.resolve() : endInstance(sql, destroy)),
  }
}

async function run(sql: Instance, text: string): Promise<void> {
  await sql.unsafe(text, [], { simple: true })
}

async function endInstance(sql: Instance, destroy: () => void): Promise<void> {
  try {
    const late = () => new Error('the server did not say goodbye')
    await within(END_WITHIN, sql.end({ timeout: END_WITHIN / 1_000 }), late)
  } finally {
    destroy()
  }
}

// Only what leads to the database: the caller's types, transforms and hooks are the application's.
function instanceOptions(given: object, host: Host, options: WireOptions): object {
  const kept = KEPT.map((name) => [name, property(given, name)] as const)
  const connection = property(given, 'connection')
  return {
    ...Object.fromEntries(kept.filter(([, value]) => value !== undefined)),
    host: host.name,
    port: host.port,
    max: 1,
    idle_timeout: null,
    max_lifetime: null,
    fetch_types: false,
    onnotice: () => {},
    onnotify: options.onNotification,
    connection: {
      ...(typeof connection === 'object' ? connection : undefined),
      ...options.settings,
      application_name: options.applicationName,
    },
  }
}

const KEPT = ['database', 'user', 'pass', 'path', 'ssl', 'sslnegotiation', 'keep_alive'] as const

interface Line {
  open(options: object): Promise<unknown>
  destroy(): void
}

// The first socket is the only one: what asks for another is an instance that reconnects.
function oneSocket(given: object, host: Host): Line {
  let socket: unknown
  return {
    async open(options) {
      if (socket !== undefined) throw new Error('Connection terminated')
      const path = textProperty(given, 'path')
      socket = hasMethod(given, 'socket')
        ? await callMethod(given, 'socket', options)
        : await connectedSocket(host, path)
      return socket
    },
    destroy() {
      callMethod(socket, 'destroy')
    },
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

async function library(): Promise<(options: object) => Instance> {
  const { default: postgres }: { default: unknown } = await import('postgres')
  if (!isLibrary(postgres)) throw new Error('the package "postgres" is not postgres.js')
  return postgres
}

function isLibrary(value: unknown): value is (options: object) => Instance {
  return typeof value === 'function'
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [value]
}
