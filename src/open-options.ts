import { checkOptions } from './core/names.ts'
import { InvalidOptionError } from './errors.ts'
import { stderrLogger } from './telemetry/logger.ts'
import type { Logger } from './telemetry/logger.ts'

export interface OpenOptions {
  /** The schema of the tables. Default `millrace`. */
  schema?: string | undefined
  /** Stands before the name of every table. Default none. */
  prefix?: string | undefined
  /**
   * `check` refuses a database that is not at this release's version, `auto` brings it there.
   * Default `check`; `auto` where Millrace embeds the database itself.
   */
  migrate?: 'check' | 'auto' | undefined
  /** `listen` wakes workers by NOTIFY, `poll` leaves it out (poolers in transaction mode). Default `listen`. */
  wake?: 'listen' | 'poll' | undefined
  /**
   * Tell other processes what becomes of jobs here, for their `mill.jobs.events()`. Default false: it
   * adds notifications to every process that listens, one for some 40 events.
   */
  events?: boolean | undefined
  /** The largest payload, in bytes of JSON. Default 262 144 (256 kB). */
  maxPayload?: number | undefined
  /**
   * Prepare statements on our own connections. Default true; where a pooler cannot keep them they are
   * sent unprepared from the first failure on, which false saves.
   */
  prepare?: boolean | undefined
  /** Takes what an operator should know. Default: warnings and errors to standard error; false: nobody. */
  logger?: Logger | false | undefined
}

/** Options checked, with the defaults in place. */
export interface OpenSettings {
  readonly schema: string | undefined
  readonly prefix: string | undefined
  readonly migrate: 'check' | 'auto'
  readonly wake: 'listen' | 'poll'
  readonly shareEvents: boolean
  readonly maxPayload: number
  readonly prepare: boolean
  readonly logger: Logger | false
}

const MAX_PAYLOAD = 256 * 1024

export function openSettings(options: OpenOptions, isEmbedded: boolean): OpenSettings {
  checkOptions('open()', options, [
    'schema',
    'prefix',
    'migrate',
    'wake',
    'events',
    'maxPayload',
    'prepare',
    'logger',
  ])
  return {
    schema: options.schema,
    prefix: options.prefix,
    migrate: oneOf('migrate', options.migrate ?? (isEmbedded ? 'auto' : 'check'), [
      'check',
      'auto',
    ]),
    wake: oneOf('wake', options.wake ?? 'listen', ['listen', 'poll']),
    shareEvents: shareEvents(options),
    maxPayload: payloadLimit(options.maxPayload ?? MAX_PAYLOAD),
    prepare: options.prepare ?? true,
    logger: loggerFrom(options.logger ?? stderrLogger),
  }
}

function shareEvents({ events = false, wake }: OpenOptions): boolean {
  if (typeof events !== 'boolean')
    throw new InvalidOptionError('events', events, 'give true or false')
  if (events && wake === 'poll') {
    throw new InvalidOptionError(
      'events',
      events,
      "they are notifications, which wake: 'poll' leaves out. Leave out one of the two",
    )
  }
  return events
}

// Found out here, and not when there is something to tell.
function loggerFrom(logger: Logger | false): Logger | false {
  if (logger === false || LEVELS.every((level) => typeof logger[level] === 'function'))
    return logger
  throw new InvalidOptionError('logger', logger, `give one with ${LEVELS.join(', ')}, or false`)
}

const LEVELS: readonly (keyof Logger)[] = ['error', 'warn', 'info', 'debug']

function oneOf<T extends string>(option: string, value: T, known: readonly T[]): T {
  if (known.includes(value)) return value
  throw new InvalidOptionError(option, value, `give one of ${known.join(', ')}`)
}

function payloadLimit(value: number): number {
  if (Number.isInteger(value) && value > 0) return value
  throw new InvalidOptionError('maxPayload', value, 'pass a whole number of bytes from 1 up')
}
