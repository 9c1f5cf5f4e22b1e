import { contenderIn, SYSTEMS } from './contenders.ts'
import type { Contender, Mode, System } from './contenders.ts'
import { medianOf } from './samples.ts'
import type { Figure, Phase, Sample } from './samples.ts'

/** Null where the run did not measure both sides. */
export type Measure = (samples: readonly Sample[]) => number | null

/** Another system in a mode, and the mode of Millrace beside it. */
export interface Pair extends Contender {
  readonly own: Mode
}

/** Millrace's figure over that of another system, both as they are best in this phase or as they are named. */
export function ratio(phase: Phase, figure: Figure, other: System | Pair): Measure {
  const asked = { phase, figure }
  const pair = typeof other === 'string' ? null : other
  const own = pair === null ? asked : { ...asked, mode: pair.own }
  const theirs = pair === null ? asked : { ...asked, mode: pair.mode }
  const system = typeof other === 'string' ? other : other.system
  return (samples) => divided(figureOf(samples, 'millrace', own), figureOf(samples, system, theirs))
}

/** Millrace's rate over that of the fastest peer that was measured. */
export function againstBest(phase: Phase, among: 'postgres' | 'any'): Measure {
  const peers = among === 'any' ? PEERS : POSTGRES_PEERS
  const asked = { phase, figure: 'rate' } as const
  return (samples) => {
    const rates = peers.flatMap((system) => figureOf(samples, system, asked) ?? [])
    const fastest = rates.length === 0 ? null : Math.max(...rates)
    return divided(figureOf(samples, 'millrace', asked), fastest)
  }
}

export function own(phase: Phase, figure: Figure): Measure {
  return (samples) => figureOf(samples, 'millrace', { phase, figure })
}

export function walAgainst(bytes: number): Measure {
  return (samples) => divided(own('drain', 'walBytes')(samples), bytes)
}

/** The processor's time of node and server together, in a drain. */
export function cpuRatio(samples: readonly Sample[]): number | null {
  const total = (system: System): number | null => {
    const node = figureOf(samples, system, { phase: 'drain', figure: 'nodeMicros' })
    const server = figureOf(samples, system, { phase: 'drain', figure: 'serverMicros' })
    return node === null || server === null ? null : node + server
  }
  return divided(total('millrace'), total('graphile-worker'))
}

export function defaultsRatio(samples: readonly Sample[]): number | null {
  const asked = { phase: 'drain defaults', figure: 'rate' } as const
  return divided(
    figureOf(samples, 'millrace', { ...asked, mode: 'defaults' }),
    figureOf(samples, 'graphile-worker', { ...asked, mode: 'concurrent' }),
  )
}

export function memoryRatio(samples: readonly Sample[]): number | null {
  const asked = { phase: 'drain', figure: 'rssBytes' } as const
  const all = POSTGRES_PEERS.flatMap((system) => figureOf(samples, system, asked) ?? [])
  const leanest = all.length === 0 ? null : Math.min(...all)
  return divided(figureOf(samples, 'millrace', asked), leanest)
}

const PEERS: readonly System[] = ['graphile-worker', 'pg-boss', 'bullmq']
const POSTGRES_PEERS = PEERS.filter((system) => SYSTEMS[system].store === 'postgres')

// Where a system is best in a mode of its own.
const MODE_OF: Readonly<Partial<Record<Phase, Mode>>> = { latency: 'prompt', idle: 'defaults' }

function figureOf(
  samples: readonly Sample[],
  system: System,
  asked: { readonly phase: Phase; readonly figure: Figure; readonly mode?: Mode },
): number | null {
  const { phase, figure, mode = MODE_OF[phase] ?? 'best' } = asked
  return medianOf(samples, { phase, contender: contenderIn(system, mode) }, figure)
}

function divided(one: number | null, other: number | null): number | null {
  return one === null || other === null || other === 0 ? null : one / other
}
