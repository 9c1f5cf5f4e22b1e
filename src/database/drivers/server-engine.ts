import { DatabaseError } from '../../errors.ts'
import {
  type Engine,
  type ListenHandlers,
  type Listening,
  PLAN_SETTINGS,
  type Session,
  type SessionOptions,
} from '../database.ts'
import { listenOn } from './listening.ts'
import { sessionOn } from './session.ts'
import { translateError } from './translate-error.ts'
import { turns } from './turns.ts'
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
  readonly #wires = new Set<Wire>()
  #preferred = 0
  #isPinning = true
  #isClosed = false

  constructor(driver: Engine['driver'], hosts: readonly OpenWire[]) {
    this.driver = driver
    this.#hosts = hosts
  }

  async connect(options: SessionOptions): Promise<Session> {
    const wire = await this.#open({
      applicationName: `millrace ${options.purpose}`,
      settings: sessionSettings(options),
      prepare: options.prepare ?? true,
    })
    return sessionOn(wire, turns(), options.timeoutMs)
  }

  listen(channel: string, handlers: ListenHandlers): Promise<Listening> {
    return listenOn((options) => this.#open(options), channel, handlers)
  }

  async close(): Promise<void> {
    this.#isClosed = true
    await Promise.all([...this.#wires].map((wire) => wire.end()))
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  // PgBouncer refuses startup packets with settings it does not know (08P01). Then we do without:
  // plans are no longer pinned, deadlocks that come of it are repeated, and `doctor` says so.
  async #open(options: WireOptions): Promise<Wire> {
    if (!this.#isPinning) return this.#openAny({ ...options, settings: {} })
    try {
      return await this.#openAny(options)
    } catch (error) {
      if (!(error instanceof DatabaseError) || error.sqlstate !== '08P01') throw error
      const wire = await this.#openAny({ ...options, settings: {} })
      this.#isPinning = false
      return wire
    }
  }

  // The host that was right last time comes first: after a failover the dead one may cost its
  // whole timeout with every connection.
  async #openAny(options: WireOptions): Promise<Wire> {
    let failure: unknown
    for (let step = 0; step < this.#hosts.length; step += 1) {
      const index = (this.#preferred + step) % this.#hosts.length
      try {
        const wire = await this.#openHost(index, options)
        this.#preferred = index
        return wire
      } catch (error) {
        failure = error
      }
    }
    throw translateError(failure, { statement: null, mayHaveApplied: false })
  }

  async #openHost(index: number, options: WireOptions): Promise<Wire> {
    const open = this.#hosts[index]
    if (open === undefined || this.#isClosed) throw closedError()
    let wire: Wire | undefined
    const onGone = (error: unknown) => {
      if (wire !== undefined) this.#wires.delete(wire)
      options.onGone?.(error)
    }
    wire = await open({ ...options, onGone })
    this.#wires.add(wire)
    if (this.#isClosed) await wire.end()
    if (this.#hosts.length > 1) await demandPrimary(wire)
    return wire
  }
}

/**
 * What our statements rest on, whatever the role's defaults: plans (see PLAN_SETTINGS), READ
 * COMMITTED, the spelling of instants and numbers. `statement_timeout` ends a query on the server
 * soon after we gave it up, so that it does not take effect much later. Statements name the schema of
 * each table, and not that of functions and operators: a function that fits better, in a schema where
 * others may create (`public` was one), would be called with our rights, so only PostgreSQL's own are
 * found, but where the application's statements run too. `default_transaction_read_only` is left
 * alone: operators and managed databases set it to stop writes, for instance when the disk is nearly
 * full.
 */
function sessionSettings({
  timeoutMs,
  isShared,
}: SessionOptions): Readonly<Record<string, string>> {
  return {
    ...PLAN_SETTINGS,
    default_transaction_isolation: 'read committed',
    DateStyle: 'ISO, MDY',
    extra_float_digits: '1',
    statement_timeout: String(Math.min(timeoutMs + 1_000, LONGEST_STATEMENT)),
    ...(isShared === true ? {} : { search_path: 'pg_catalog,pg_temp' }),
  }
}

// PostgreSQL's own limit for the setting.
const LONGEST_STATEMENT = 2 ** 31 - 1

function closedError(): DatabaseError {
  return new DatabaseError('this engine is closed; open() a new client', {
    sqlstate: null,
    statement: null,
    retryable: false,
    outcomeUnknown: false,
  })
}

async function demandPrimary(wire: Wire): Promise<void> {
  const [row] = await wire.query({
    name: 'primary',
    text: "select current_setting('transaction_read_only') as read_only",
    values: [],
  })
  if (row?.['read_only'] === 'off') return
  wire.destroy()
  throw new DatabaseError('none of the hosts takes writes. Check which one is the primary.', {
    sqlstate: '25006',
    statement: null,
    retryable: true,
    outcomeUnknown: false,
  })
}
