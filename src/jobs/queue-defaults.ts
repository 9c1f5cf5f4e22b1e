import { decodeJson, encodeJson } from '../core/json.ts'
import { checkOptions } from '../core/names.ts'
import { InvalidOptionError } from '../errors.ts'
import type { StampedOptions } from './kind.ts'
import { readOption, STAMPED_OPTIONS } from './stamped-options.ts'
import type { Settings } from './stamped-options.ts'

/**
 * What a queue says where neither the call nor the kind does (E3): stored as it was given, so that
 * people can read it, and read again with the same checks.
 */
export type QueueDefaults = Omit<StampedOptions, 'queue'>

/** The defaults of a queue as far as they are known here; undefined where it has none. */
export type DefaultsOf = (queue: string) => Settings | undefined

export interface KnownDefaults {
  readonly defaultsOf: DefaultsOf
  /** Resolves when what is known is fresh enough for an ask; undefined when it is already. */
  fresh(): Promise<void> | undefined
}

const OPTIONS = STAMPED_OPTIONS.filter((option) => option !== 'queue')

/** The text to store; null where nothing is said. Throws `InvalidOptionError`. */
export function encodeDefaults(defaults: QueueDefaults): string | null {
  const given = checkOptions('queues.set()', defaults, OPTIONS)
  const said = OPTIONS.filter((option) => given[option] !== undefined)
  for (const option of said) readOption(option, given[option])
  if (given['expires'] instanceof Date) {
    throw new InvalidOptionError(
      'expires',
      given['expires'],
      'for a queue it is a duration from enqueue. An instant would end all later jobs at once.',
    )
  }
  if (said.length === 0) return null
  return encodeJson(Object.fromEntries(said.map((option) => [option, given[option]])))
}

/** What was stored, by whatever release: a member that cannot be read says nothing. */
export function decodeDefaults(text: string): Settings {
  const stored = membersOf(text)
  const settings: Settings = {}
  for (const option of OPTIONS) {
    const value = stored[option]
    if (value !== undefined)
      Object.assign(
        settings,
        readable(() => readOption(option, value)),
      )
  }
  return settings
}

function membersOf(text: string): Readonly<Record<string, unknown>> {
  const value = readable((): unknown => decodeJson(text))
  return isMembers(value) ? value : {}
}

function isMembers(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null
}

function readable<T>(read: () => T): T | undefined {
  try {
    return read()
  } catch {
    return undefined
  }
}
