import { defineJob, defineOutbox, defineStream, typed } from 'millrace'
import type { JobKind, OutboxDefinition, StreamDefinition } from 'millrace'

// What the load of the chaos is made of: a kind for each thing that the history can be checked for.

/** Of every job, and how long a worker that died keeps its jobs. */
export const LEASE_MS = 4_000

/** Whoever loses its process again and again comes to its end all the same. */
const patient = {
  lease: LEASE_MS,
  retry: { failures: 1_000, backoff: { type: 'fixed', base: '100ms' } },
} as const

interface Of<Name extends string, Input, Carry = undefined> {
  name: Name
  input: Input
  parsed: Input
  carry: Carry
  result: unknown
}

/** Asks of one key are folded into one job, which does each of them once. */
export interface Gathered {
  readonly key: string
  readonly asks: readonly number[]
}

export const gathered: JobKind<Of<'gathered', Gathered>> = defineJob('gathered', {
  ...patient,
  input: typed<Gathered>(),
  dedup: ({ key }) => key,
  merge: (existing, incoming) => ({
    input: {
      key: incoming.input.key,
      asks: [...existing.input.asks, ...incoming.input.asks],
    },
  }),
})

/** Pauses once for each page, and knows by its carry where it is. */
export interface Paged {
  readonly number: number
  readonly pages: number
}

export const paged: JobKind<Of<'paged', Paged, { page: number }>> = defineJob('paged', {
  ...patient,
  input: typed<Paged>(),
  carry: { page: 0 },
})

/** Follow-ups: as many as it says when it has completed, and none before. */
export interface Parent {
  readonly number: number
  readonly children: number
  readonly failures: number
}

export const parent: JobKind<Of<'parent', Parent>> = defineJob('parent', {
  ...patient,
  input: typed<Parent>(),
})

export const child: JobKind<Of<'child', { readonly parent: string }>> = defineJob('child', {
  ...patient,
  input: typed<{ readonly parent: string }>(),
})

/** Not before it is due, and not after it expired. */
export interface Timely {
  readonly number: number
  readonly expiresAt: number
}

export const timely: JobKind<Of<'timely', Timely>> = defineJob('timely', {
  ...patient,
  input: typed<Timely>(),
})

export interface Numbered {
  readonly number: number
  readonly ms: number
}

/** In a queue of its own, with a cap. */
export const narrow: JobKind<Of<'narrow', Numbered>> = defineJob('narrow', {
  ...patient,
  queue: 'narrow',
  input: typed<Numbered>(),
})

/** Cancelled by whoever asked for it, a moment later. */
export const doomed: JobKind<Of<'doomed', Numbered>> = defineJob('doomed', {
  ...patient,
  input: typed<Numbered>(),
})

/** One at a time of a key, and once more for what was asked for meanwhile. */
export const single: JobKind<Of<'single', Numbered & { readonly key: string }>> = defineJob(
  'single',
  {
    ...patient,
    input: typed<Numbered & { readonly key: string }>(),
    dedup: { key: ({ key }) => key, scope: 'live', rerun: true },
  },
)

export const tick: JobKind<Of<'tick', undefined>> = defineJob('tick', patient)

export const orders: StreamDefinition<{
  name: 'orders'
  input: { readonly n: number }
  data: { readonly n: number }
}> = defineStream('orders', { data: typed<{ readonly n: number }>() })

export interface Mail {
  readonly fails: number
}

export const mails: OutboxDefinition<{ name: 'mails'; input: Mail; message: Mail }> = defineOutbox(
  'mails',
  { ...patient, message: typed<Mail>() },
)

export const LOCKS: readonly string[] = ['north', 'south']
