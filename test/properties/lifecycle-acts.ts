import * as fc from 'fast-check'
import type { Ask } from './lifecycle-asks.ts'
import type { KindName } from './lifecycle-kinds.ts'
import type { Fate, Run } from './lifecycle-model.ts'

/** What can be done to a mill, in whole: each names its jobs and runs, so that it can be read as a script. */
export type Act =
  | { readonly do: 'enqueue'; readonly ask: Ask }
  /** `once`: one statement; else all there is room for, in as many as it takes. */
  | { readonly do: 'claim'; readonly worker: WorkerName; readonly once: boolean }
  | { readonly do: 'settle'; readonly run: Run; readonly fate: Fate; readonly follow: Ask | null }
  | { readonly do: 'checkpoint'; readonly run: Run; readonly carry: number }
  | { readonly do: 'renew'; readonly worker: WorkerName }
  | { readonly do: 'crash'; readonly worker: WorkerName }
  | { readonly do: 'recover'; readonly worker: WorkerName }
  | { readonly do: 'cancel'; readonly which: Which; readonly force: boolean }
  | { readonly do: 'redrive'; readonly which: Which }
  | {
      readonly do: 'reschedule'
      readonly which: Which
      readonly delay: number | null
      readonly priority: number | null
    }
  | { readonly do: 'pause' | 'resume'; readonly queue: string }
  | { readonly do: 'housekeep' }
  | { readonly do: 'clean up'; readonly olderThan: number }
  | { readonly do: 'wait'; readonly ms: number }

/** One job, or all of a kind. */
export type Which = { readonly id: string } | { readonly kind: KindName }

export type WorkerName = 'ada' | 'bob' | 'cyd'

/** What is drawn: jobs and runs by number, since which there are is known when it is their turn. */
export type Draw = Alone | { readonly do: 'together'; readonly draws: readonly Alone[] }

type Alone =
  | { readonly do: 'enqueue'; readonly ask: Omit<Ask, 'id'> }
  | { readonly do: 'repeat'; readonly nth: number }
  | { readonly do: 'settle'; readonly nth: number; readonly fate: Fate; readonly follow: boolean }
  | { readonly do: 'settle late'; readonly nth: number; readonly fate: Fate }
  | { readonly do: 'checkpoint'; readonly nth: number; readonly carry: number }
  | {
      readonly do: 'cancel' | 'redrive' | 'reschedule'
      readonly nth: number
      readonly all: boolean
      readonly force: boolean
      readonly delay: number | null
      readonly priority: number | null
    }
  | Exclude<
      Act,
      { readonly do: 'enqueue' | 'settle' | 'checkpoint' | 'cancel' | 'redrive' | 'reschedule' }
    >

export const QUEUES: readonly string[] = ['one', 'two']

const nth = fc.nat(1_000)
const worker = fc.constantFrom<WorkerName>('ada', 'bob', 'cyd')
const queue = fc.constantFrom(...QUEUES)
const priority = fc.constantFrom(2, 5, 8)
const delay = fc.constantFrom(null, 0, 15_000, 70_000)

const ask: fc.Arbitrary<Omit<Ask, 'id'>> = fc.record({
  kind: fc.constantFrom<KindName>(
    'plain',
    'folds',
    'folds',
    'live',
    'rerun',
    'rerun',
    'throttled',
    'debounced',
  ),
  key: fc.constantFrom('a', 'b'),
  v: fc.nat(3),
  queue,
  priority,
  leaseMs: fc.constantFrom(10_000, 30_000),
  delay: fc.constantFrom(null, null, null, 15_000),
  expires: fc.constantFrom(null, null, null, null, 5_000, 40_000),
})

const fate: fc.Arbitrary<Fate> = fc.record({
  how: fc.constantFrom('complete', 'pause', 'retry', 'retry', 'give-up', 'undecodable', 'release'),
  ms: fc.constantFrom(null, 1_000, 25_000),
  carry: fc.option(fc.integer({ min: 1, max: 9 })),
})

const change = fc.record({
  do: fc.constantFrom('cancel', 'redrive', 'reschedule'),
  nth,
  all: fc.constantFrom(false, false, false, true),
  force: fc.constantFrom(false, false, true),
  delay,
  priority: fc.option(priority),
})

const enqueue = fc.record({ do: fc.constant('enqueue'), ask })
const claim = fc.record({ do: fc.constant('claim'), worker, once: fc.constant(false) })
const settle = fc.record({
  do: fc.constant('settle'),
  nth,
  fate,
  follow: fc.constantFrom(false, false, false, true),
})

// Of these any two may meet, and are as if one came after the other. Not so what skips rows that are
// held and does the rest later (recovery, renewal), nor a filter, which is walked in steps.
const meeting = fc.oneof(
  enqueue,
  claim.map((each) => ({ ...each, once: true })),
  settle,
  change.map((each) => ({ ...each, all: false })),
)
const together = fc.record({
  do: fc.constant('together'),
  draws: fc.tuple(meeting, meeting),
})

/** Weighed so that most jobs get on with their lives. */
export const draws: fc.Arbitrary<Draw> = fc.oneof(
  { weight: 14, arbitrary: together },
  { weight: 10, arbitrary: enqueue },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('repeat'), nth }) },
  { weight: 8, arbitrary: claim },
  { weight: 16, arbitrary: settle },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('settle late'), nth, fate }) },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant('checkpoint'),
      nth,
      carry: fc.integer({ min: 11, max: 19 }),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constantFrom('renew', 'crash'), worker }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('recover'), worker }) },
  { weight: 5, arbitrary: change },
  { weight: 1, arbitrary: fc.record({ do: fc.constantFrom('pause', 'resume', 'resume'), queue }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('housekeep') }) },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant('clean up'),
      olderThan: fc.constantFrom(30_000, 100_000),
    }),
  },
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant('wait'),
      ms: fc.constantFrom(1_000, 8_000, 12_000, 32_000, 65_000, 130_000),
    }),
  },
)
