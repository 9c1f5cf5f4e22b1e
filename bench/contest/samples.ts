import { median } from '../report.ts'
import { contenderName } from './contenders.ts'
import type { Contender } from './contenders.ts'

/** One measurement of one contender. A figure that it does not have is null. */
export interface Sample {
  readonly phase: Phase
  readonly contender: string
  readonly figures: Figures
}

export type Phase =
  | 'one by one'
  | 'in flight'
  | 'bulk'
  | 'drain'
  | 'drain lean'
  | 'drain defaults'
  | 'latency'
  | 'steady'
  | 'backlog'
  | 'snapshot'
  | 'idle'

/** Rates are jobs a second, waits milliseconds, the processor's time microseconds a job. */
export type Figure =
  | 'rate'
  | 'p50'
  | 'p99'
  | 'early'
  | 'late'
  | 'backlog'
  | 'missing'
  | 'nodeMicros'
  | 'serverMicros'
  | 'walBytes'
  | 'dead'
  | 'rssBytes'
  | 'statements'

export type Figures = Readonly<Partial<Record<Figure, number | null>>>

/** The middle of what was measured; null where nothing was. */
export function medianOf(
  samples: readonly Sample[],
  { phase, contender }: { readonly phase: Phase; readonly contender: Contender | string },
  figure: Figure,
): number | null {
  const name = typeof contender === 'string' ? contender : contenderName(contender)
  const values = samples
    .filter((sample) => sample.phase === phase && sample.contender === name)
    .flatMap(({ figures }) => figures[figure] ?? [])
  return values.length === 0 ? null : median(values)
}

/** Who was measured in a phase, in the order of their first turn. */
export function contendersIn(samples: readonly Sample[], phase: Phase): readonly string[] {
  const names = samples.filter((sample) => sample.phase === phase)
  return [...new Set(names.map(({ contender }) => contender))]
}
