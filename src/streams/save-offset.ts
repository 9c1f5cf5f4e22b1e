import type { Runner } from '../database/executor.ts'
import { InvalidOptionError } from '../errors.ts'
import { saveOffset } from './consumer-statements.ts'
import type { ConsumerPlace } from './consumer-statements.ts'

/** Saves an offset by hand, forward only; answers whether it moved. Throws `InvalidOptionError`. */
export async function saveForward(
  runner: Runner,
  place: ConsumerPlace,
  offset: unknown,
): Promise<boolean> {
  const given = offsetOption('offset', offset, 0)
  const [row] = await runner.run(saveOffset, { ...place, offset: given })
  const head = row?.head ?? 0
  if (given <= head) return row?.is_saved === true
  throw beyond('offset', given, { stream: place.stream, head })
}

/** An offset that a caller gave. Throws `InvalidOptionError`. */
export function offsetOption(option: string, value: unknown, least: 0 | 1): number {
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= least) return value
  throw new InvalidOptionError(option, value, `an offset is a whole number from ${least} up`)
}

/** The offset of another stream, most likely. */
export function beyond(
  option: string,
  value: number,
  { stream, head }: { readonly stream: string; readonly head: number },
): InvalidOptionError {
  return new InvalidOptionError(
    option,
    value,
    `stream ${JSON.stringify(stream)} ends at ${head}. Is it the offset of another stream?`,
  )
}
