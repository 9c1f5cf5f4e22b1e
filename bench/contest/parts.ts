import { contenderIn, SYSTEMS } from './contenders.ts'
import type { Contender, Mode } from './contenders.ts'
import type { ContestOptions, Part } from './options.ts'

/** Takes minutes, and so comes once. */
export function isLong(part: Part): boolean {
  return LONG_PARTS.has(part)
}

export function isShort(part: Part): boolean {
  return !isLong(part)
}

/** Who takes part, each in the configuration that is its best there. */
export function contendersOf(part: Part, options: ContestOptions): readonly Contender[] {
  const systems = POSTGRES_ONLY.has(part)
    ? options.systems.filter((system) => SYSTEMS[system].store === 'postgres')
    : options.systems
  const inModes = MODES[part].flatMap((mode) =>
    systems
      .map((system) => contenderIn(system, mode))
      .filter((contender) => contender.mode === mode || !STRICT_PARTS.has(part)),
  )
  const beside = BESIDE[part] ?? []
  return [...inModes, ...beside.filter(({ system }) => systems.includes(system))]
}

const LONG_PARTS: ReadonlySet<Part> = new Set(['steady', 'backlog', 'snapshot', 'idle'])

const MODES: Readonly<Record<Part, readonly Mode[]>> = {
  enqueue: ['best'],
  drain: ['best'],
  lean: ['lean'],
  defaults: ['defaults', 'concurrent'],
  latency: ['prompt'],
  steady: ['steady'],
  backlog: ['best'],
  snapshot: ['steady'],
  idle: ['defaults'],
}

// A worker apart from its producer cannot start a job as it is written. And what a queue is when set up
// for a backlog, and as installed: few set one up for single jobs alone.
const BESIDE: Readonly<Partial<Record<Part, readonly Contender[]>>> = {
  latency: [
    { system: 'millrace', mode: 'apart' },
    { system: 'graphile-worker', mode: 'best' },
    { system: 'graphile-worker', mode: 'defaults' },
  ],
}

// Here a system without the mode takes no part: its best would be no answer to what is asked.
const STRICT_PARTS: ReadonlySet<Part> = new Set(['lean', 'defaults'])

/** Redis has no snapshots to hold and no statements to count. */
const POSTGRES_ONLY: ReadonlySet<Part> = new Set(['snapshot', 'idle'])
