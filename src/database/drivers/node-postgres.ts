import { createHash } from 'node:crypto'
import type { Engine, Query, Row } from '../database.ts'
import { parameterOf, urlsByHost, withParameters } from './connection-url.ts'
import { farewell } from './farewell.ts'
import { callMethod, hasMethod, property, textProperty } from './property.ts'
import { serverEngine } from './server-engine.ts'
import { CONNECT_WITHIN, type OpenWire, type Wire, type WireOptions } from './wire.ts'

/** What we need of a `pg.Pool`: it gives its configuration and its Client class, never a connection. */
export interface PgPool {
  readonly options: object
}

/**
 * The engine over node-postgres. Its connections are single clients of our own: a pool's are the
 * application's, may all be busy, and carry whatever settings it made on them.
 */
export function nodePostgresEngine(
  config: { readonly url: string } | { readonly pool: PgPool },
): Engine {
  return serverEngine(
    'node-postgres',
    'url' in config ? urlHosts(config.url) : poolHosts(config.pool),
  )
}

interface PgClient {
  connect(): Promise<unknown>
  query(query: object): Promise<{ readonly rows: readonly Row[] }>
  end(): Promise<void>
  on(event: string, listener: (argument: never) => void): unknown
}

type PgClientClass = new (config: object) => PgClient

function urlHosts(url: string): readonly OpenWire[] {
  return urlsByHost(url).map(
    (connectionString) => async (options) =>
      openClient(await packagedClient(), { connectionString }, options),
  )
}

function poolHosts(pool: PgPool): readonly OpenWire[] {
  // Spreading loses the password: a pool makes it non-enumerable, so that logs do not show it.
  const config = { ...pool.options, password: property(pool.options, 'password') }
  const Client: unknown = property(pool, 'Client')
  const url = textProperty(config, 'connectionString')
  const hosts =
    url === undefined
      ? [config]
      : urlsByHost(url).map((each) => ({ ...config, connectionString: each }))
  return hosts.map(
    (host) => async (options) =>
      openClient(isClientClass(Client) ? Client : await packagedClient(), host, options),
  )
}

async function packagedClient(): Promise<PgClientClass> {
  const { Client } = await import('pg')
  return Client
}

async function openClient(
  Client: PgClientClass,
  given: object,
  options: WireOptions,
): Promise<Wire> {
  const wire = new ClientWire(new Client(clientConfig(given, options)), options)
  await wire.connect()
  return wire
}

class ClientWire implements Wire {
  readonly #client: PgClient
  #nameOf: ((query: Query) => string) | undefined
  #isGone = false

  constructor(client: PgClient, options: WireOptions) {
    this.#client = client
    this.#nameOf = options.prepare ? preparedNames() : undefined
    const lose = (error?: unknown) => {
      this.#isGone = true
      options.onGone?.(error ?? new Error('Connection terminated'))
    }
    // Without a listener an error on an idle connection would end the process.
    client.on('error', lose)
    client.on('end', lose)
    client.on('notification', ({ channel, payload }: PgNotification) =>
      options.onNotification?.(channel, payload ?? ''),
    )
  }

  async connect(): Promise<void> {
    try {
      await this.#client.connect()
    } catch (error) {
      this.destroy()
      throw error
    }
  }

  async query(query: Query): Promise<readonly Row[]> {
    const name = query.isAskedOnce === true ? undefined : this.#nameOf?.(query)
    const { rows } = await this.#client.query({ name, text: query.text, values: [...query.values] })
    return rows
  }

  async execute(text: string): Promise<void> {
    await this.#client.query({ text })
  }

  get isGone(): boolean {
    return this.#isGone
  }

  prepareNoMore(): void {
    this.#nameOf = undefined
  }

  destroy(): void {
    this.#isGone = true
    destroySocket(this.#client)
  }

  async end(): Promise<void> {
    if (!this.#isGone) await farewell(this.#client.end(), () => this.destroy())
  }
}

interface PgNotification {
  readonly channel: string
  readonly payload?: string
}

function clientConfig(given: object, options: WireOptions): object {
  const url = textProperty(given, 'connectionString')
  const ours = {
    application_name: options.applicationName,
    options: commandLine(url, given, options.settings),
    // Sent beside `options`, and stronger; ours is among the settings.
    statement_timeout: undefined,
    // The library's own timeout would leave the query running on the connection.
    query_timeout: undefined,
  }
  return {
    keepAlive: true,
    keepAliveInitialDelayMillis: 30_000,
    ...given,
    ...ours,
    connectionString: url && withParameters(url, ours),
    connectionTimeoutMillis: Number(property(given, 'connectionTimeoutMillis')) || CONNECT_WITHIN,
    types: { getTypeParser },
    binary: false,
    pipeline: false,
  }
}

// The caller's own options first: of two settings of one name the last one counts.
function commandLine(
  url: string | undefined,
  given: object,
  settings: Readonly<Record<string, string>>,
): string | undefined {
  const fromUrl = url === undefined ? undefined : parameterOf(url, 'options')
  const own = fromUrl ?? textProperty(given, 'options') ?? process.env['PGOPTIONS']
  const ours = Object.entries(settings).map(
    ([name, value]) => `-c ${name}=${value.replace(/[\\\s]/g, '\\$&')}`,
  )
  return [own, ...ours].filter(Boolean).join(' ') || undefined
}

// Behind a pooler a statement of this name may be there that somebody else prepared: for another
// namespace, or with another release. So the name says what the text is, and what is run under it is
// never another's. PostgreSQL cuts a name to 63 bytes.
function preparedNames(): (query: Query) => string {
  const names = new Map<string, string>()
  return ({ name, text }) => {
    const known = names.get(text)
    if (known !== undefined) return known
    const digest = createHash('sha256').update(text).digest('hex')
    const unique = `${name.slice(0, 40)}~${digest.slice(0, 16)}`
    names.set(text, unique)
    return unique
  }
}

// The types that statements return, the same in all drivers whatever the application registered.
function getTypeParser(oid: number): (text: string) => unknown {
  if (oid === 16) return (text) => text === 't'
  return NUMBERS.has(oid) ? Number : String
}

// int2, int4, oid, float4, float8
const NUMBERS: ReadonlySet<number> = new Set([21, 23, 26, 700, 701])

// `end` waits for the server, which may be gone without a trace; the socket is what we hold.
function destroySocket(client: PgClient): void {
  const stream = property(property(client, 'connection'), 'stream')
  if (hasMethod(stream, 'destroy')) callMethod(stream, 'destroy')
  else client.end().catch(() => {})
}

function isClientClass(value: unknown): value is PgClientClass {
  return typeof value === 'function'
}
