import {
  againstBest,
  cpuRatio,
  defaultsRatio,
  memoryRatio,
  own,
  ratio,
  walAgainst,
} from './ratios.ts'
import type { Measure, Pair } from './ratios.ts'
import type { Sample } from './samples.ts'
import { markdown } from './tables.ts'

/** What Millrace is meant to reach, as a ratio to somebody else within one run, or as a bound. */
export interface Goal {
  readonly what: string
  readonly against: string
  readonly bound: Bound
  readonly measure: Measure
}

interface Bound {
  readonly sign: '≥' | '≤'
  readonly value: number
}

const atLeast = (value: number): Bound => ({ sign: '≥', value })
const atMost = (value: number): Bound => ({ sign: '≤', value })

// WAL bytes a job of the in-place layout with a journal, enqueue and drain, measured on 2026-11-30:
// it was a prototype, and what a job writes hardly depends on the machine.
const IN_PLACE_WAL = 616 + 2_077
const LIMIT = 'a bare loop over the same statements'

export const GOALS: readonly Goal[] = [
  {
    what: 'drain, history kept',
    against: 'graphile-worker best',
    bound: atLeast(2),
    measure: ratio('drain', 'rate', 'graphile-worker'),
  },
  {
    what: 'drain, history kept',
    against: 'pg-boss best',
    bound: atLeast(1.4),
    measure: ratio('drain', 'rate', 'pg-boss'),
  },
  {
    what: 'drain, history kept',
    against: 'BullMQ, concurrency 100',
    bound: atLeast(3),
    measure: ratio('drain', 'rate', 'bullmq'),
  },
  {
    what: 'CPU per job, node + server',
    against: 'graphile-worker best',
    bound: atMost(0.75),
    measure: cpuRatio,
  },
  {
    what: 'drain with defaults',
    against: 'graphile-worker, concurrency 24',
    bound: atLeast(10),
    measure: defaultsRatio,
  },
  {
    what: 'enqueue, 50 concurrent',
    against: 'best PostgreSQL peer',
    bound: atLeast(10),
    measure: againstBest('in flight', 'postgres'),
  },
  {
    what: 'enqueue, 50 concurrent',
    against: 'BullMQ',
    bound: atLeast(1),
    measure: ratio('in flight', 'rate', 'bullmq'),
  },
  {
    what: 'enqueue one by one',
    against: 'best PostgreSQL peer',
    bound: atLeast(1.5),
    measure: againstBest('one by one', 'postgres'),
  },
  {
    what: 'enqueue in bulk',
    against: 'best peer',
    bound: atLeast(1.6),
    measure: againstBest('bulk', 'any'),
  },
  ...latencyGoals('p50'),
  ...latencyGoals('p99'),
  {
    what: 'WAL per job',
    against: `in-place layout, ${IN_PLACE_WAL} B`,
    bound: atMost(0.6),
    measure: walAgainst(IN_PLACE_WAL),
  },
  {
    what: 'the limit: drain',
    against: LIMIT,
    bound: atLeast(0.85),
    measure: ratio('drain', 'rate', 'bare-loop'),
  },
  {
    what: 'the limit: bulk',
    against: LIMIT,
    bound: atLeast(0.85),
    measure: ratio('bulk', 'rate', 'bare-loop'),
  },
  {
    what: 'the limit: latency p50',
    against: LIMIT,
    bound: atMost(1.3),
    measure: ratio('latency', 'p50', 'bare-loop'),
  },
  {
    what: 'idle worker, statements/s',
    against: '–',
    bound: atMost(0.2),
    measure: own('idle', 'statements'),
  },
  {
    what: 'RSS while draining',
    against: 'leanest PostgreSQL peer',
    bound: atMost(1.2),
    measure: memoryRatio,
  },
]

function latencyGoals(figure: 'p50' | 'p99'): readonly Goal[] {
  const goal = (against: string, { own, mode }: Pick<Pair, 'own' | 'mode'>): Goal => ({
    what: own === 'apart' ? `latency ${figure}, worker apart` : `latency ${figure}`,
    against,
    bound: atMost(0.6),
    measure: ratio('latency', figure, { system: 'graphile-worker', mode, own }),
  })
  return [
    goal('graphile-worker, defaults', { own: 'prompt', mode: 'defaults' }),
    goal('graphile-worker, best', { own: 'prompt', mode: 'best' }),
    goal('graphile-worker, no local queue', { own: 'prompt', mode: 'prompt' }),
    goal('graphile-worker, best', { own: 'apart', mode: 'best' }),
  ]
}

export type Verdict = 'met' | 'NOT MET' | 'not measured'

export function verdictOn(bound: Bound, measured: number | null): Verdict {
  if (measured === null) return 'not measured'
  const isMet = bound.sign === '≥' ? measured >= bound.value : measured <= bound.value
  return isMet ? 'met' : 'NOT MET'
}

/** Every goal, its measured value, and whether it is met. */
export function goalsText(samples: readonly Sample[]): string {
  const lines = GOALS.map(({ what, against, bound, measure }) => {
    const measured = measure(samples)
    const value = measured === null ? '–' : measured.toFixed(2)
    return [what, against, `${bound.sign} ${bound.value}`, value, verdictOn(bound, measured)]
  })
  return ['### Goals', '', ...markdown(['', 'against', 'goal', 'measured', ''], lines)].join('\n')
}
