import { defineJob, typed } from 'millrace'
import type { JobKind } from 'millrace'

interface LoadTypes {
  name: 'load'
  input: LoadInput
  parsed: LoadInput
  carry: undefined
  result: unknown
}

interface LoadInput {
  /** When it was asked for, by the machine's clock, which all processes of a load share. */
  readonly askedAt: number
}

/** A job that does nothing: what is measured is everything around it. */
export const loadKind: JobKind<LoadTypes> = defineJob('load', { input: typed<LoadInput>() })

/** `count` inputs of now. */
export function* loadInputs(count: number): Generator<LoadInput, void> {
  const askedAt = Date.now()
  for (let made = 0; made < count; made += 1) yield { askedAt }
}
