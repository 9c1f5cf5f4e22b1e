import { InvalidOptionError } from '../errors.ts'

/** Checks what was given for `option` and gives it in milliseconds since the Unix epoch. */
export function instant(option: string, value: unknown): number {
  if (!(value instanceof Date)) {
    throw new InvalidOptionError(option, value, 'an instant is a Date. Pass new Date(…).')
  }
  const time = value.getTime()
  if (Number.isNaN(time)) {
    throw new InvalidOptionError(
      option,
      'Invalid Date',
      'the Date holds no instant. Check the text or number it was made from.',
    )
  }
  return time
}
