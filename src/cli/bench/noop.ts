import { defineJob, typed } from '../../index.ts'
import type { JobKind } from '../../index.ts'

/** The input of all jobs of a bench: small, as most are. */
export type NoopInput = { readonly number: number }

/** What is measured is everything around the handler. */
export const NOOP: JobKind<{
  name: 'bench'
  input: NoopInput
  parsed: NoopInput
  carry: undefined
  result: unknown
}> = defineJob('bench', { input: typed<NoopInput>() })
