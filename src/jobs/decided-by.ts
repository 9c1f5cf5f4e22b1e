import { storableText } from '../core/text.ts'
import { InvalidOptionError } from '../errors.ts'

// Names and sentences for people, no documents.
const LONGEST = 1_000

/** Who decided, or why, as it is recorded: at most 1 000 bytes; null where nothing was said. Throws `InvalidOptionError`. */
export function saidText(option: 'by' | 'why', value: unknown): string | null {
  if (value === undefined) return null
  if (typeof value !== 'string') throw new InvalidOptionError(option, value, 'pass a text')
  return storableText(value, LONGEST).text
}
