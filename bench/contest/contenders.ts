/**
 * A system in one of its configurations. `best`: for a backlog. `lean`: the same, nothing kept of
 * what completed. `steady`: for a constant load. `prompt`: for single jobs. `concurrent`: 24 runs at
 * once and nothing else. `apart`: for single jobs, the worker with a client of its own. `defaults`: as installed. What they are is in each system's module.
 */
export interface Contender {
  readonly system: System
  readonly mode: Mode
}

export type System = 'millrace' | 'graphile-worker' | 'pg-boss' | 'bullmq' | 'bare-loop'
export type Mode = 'best' | 'lean' | 'steady' | 'prompt' | 'apart' | 'concurrent' | 'defaults'

export interface SystemFacts {
  /** A file URL. */
  readonly module: string
  readonly store: 'postgres' | 'redis'
  /** Comes from bench/peers, with a lock of its own. */
  readonly isPeer: boolean
  /** The modes that differ from `best`; asked for another one it runs in that. */
  readonly modes: readonly Mode[]
}

const at = (path: string): string => new URL(`../${path}`, import.meta.url).href

export const SYSTEMS: Readonly<Record<System, SystemFacts>> = {
  millrace: {
    module: at('contest/millrace.mjs'),
    store: 'postgres',
    isPeer: false,
    modes: ['lean', 'prompt', 'apart', 'defaults'],
  },
  'graphile-worker': {
    module: at('peers/graphile-worker.mjs'),
    store: 'postgres',
    isPeer: true,
    modes: ['lean', 'prompt', 'concurrent', 'defaults'],
  },
  'pg-boss': {
    module: at('peers/pg-boss.mjs'),
    store: 'postgres',
    isPeer: true,
    modes: ['steady', 'prompt', 'defaults'],
  },
  bullmq: {
    module: at('peers/bullmq.mjs'),
    store: 'redis',
    isPeer: true,
    modes: ['lean', 'prompt', 'defaults'],
  },
  'bare-loop': {
    module: at('limit/bare-loop.mjs'),
    store: 'postgres',
    isPeer: false,
    modes: [],
  },
}

export const SYSTEM_NAMES: readonly System[] = [
  'millrace',
  'graphile-worker',
  'pg-boss',
  'bullmq',
  'bare-loop',
]

/** The system in this mode, or in its best where it has no such mode. */
export function contenderIn(system: System, mode: Mode): Contender {
  return { system, mode: SYSTEMS[system].modes.includes(mode) ? mode : 'best' }
}

export function contenderName({ system, mode }: Contender): string {
  return `${system} ${mode}`
}
