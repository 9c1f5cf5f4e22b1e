import { defineJob, typed } from 'millrace'
import type { JobKind, Mill } from 'millrace'

interface NoopInput {
  number: number
}

interface NoopTypes {
  name: 'noop'
  input: NoopInput
  parsed: NoopInput
  carry: undefined
  result: unknown
}

/** The job of all phases: what is measured is everything around the handler. */
export const noop: JobKind<NoopTypes> = defineJob('noop', { input: typed<NoopInput>() })

/** `count` jobs in one call. */
export async function fill(mill: Mill, count: number): Promise<void> {
  await mill.enqueueMany(noop, inputs(count))
}

function* inputs(count: number): Generator<NoopInput> {
  for (let number = 0; number < count; number += 1) yield { number }
}
