import type { Engine, Query, Row, Value } from '../database.ts'
import { demandWritable } from './connection-url.ts'
import { within } from './deadline.ts'
import { farewell } from './farewell.ts'
import { type Host, OneSocket } from './one-socket.ts'
import { property, textProperty } from './property.ts'
import { serverEngine } from './server-engine.ts'
import { CONNECT_WITHIN, type OpenWire, type Wire, type WireOptions } from './wire.ts'

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
  end(options: { timeout: number | null }): Promise<void>
}

function hostsOf(options: object): readonly OpenWire[] {
  const names = listOf(property(options, 'host'))
  const ports = listOf(property(options, 'port'))
  if (names.length > 1) demandWritable(textProperty(options, 'target_session_attrs'))
  return names.map((name, index): OpenWire => {
    const host = { name: String(name), port: Number(ports[index] ?? ports[0]) }
    return (wireOptions) => openInstance(options, host, wireOptions)
  })
}

async function openInstance(given: object, host: Host, options: WireOptions): Promise<Wire> {
  const postgres = await library()
  const socket = new OneSocket(given, host)
  const wire = new InstanceWire(socket, options)
  await wire.connect((own) => postgres({ ...instanceOptions(given, host, options), ...own }))
  return wire
}

class InstanceWire implements Wire {
  readonly #socket: OneSocket
  readonly #options: WireOptions
  #sql: Instance | undefined
  #isGone = false
  #isPreparing: boolean

  constructor(socket: OneSocket, options: WireOptions) {
    this.#socket = socket
    this.#options = options
    this.#isPreparing = options.prepare
  }

  async connect(make: (own: object) => Instance): Promise<void> {
    this.#sql = make({
      socket: (options: object) => this.#socket.open(options),
      onclose: () => this.#lose(),
    })
    try {
      await within(CONNECT_WITHIN, this.execute('select 1'), () => new Error('timeout expired'))
    } catch (error) {
      this.destroy()
      throw error
    }
  }

  query(query: Query): Promise<readonly Row[]> {
    const prepare = this.#isPreparing && query.isAskedOnce !== true
    return queryPostgresJs(this.#instance(), query, prepare)
  }

  async execute(text: string): Promise<void> {
    await this.#instance().unsafe(text, [], { simple: true })
  }

  get isGone(): boolean {
    return this.#isGone
  }

  prepareNoMore(): void {
    this.#isPreparing = false
  }

  destroy(): void {
    this.#isGone = true
    this.#socket.drop()
    this.#sql?.end({ timeout: 0 }).catch(() => {})
  }

  async end(): Promise<void> {
    if (this.#isGone) return
    await farewell(this.#instance().end({ timeout: null }), () => this.destroy())
  }

  #instance(): Instance {
    if (this.#sql === undefined) throw new Error('Connection terminated')
    return this.#sql
  }

  #lose(): void {
    this.#isGone = true
    this.#options.onGone?.(new Error('the connection was closed'))
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
