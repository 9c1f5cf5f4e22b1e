import type { Act, Draw, Which } from './lifecycle-acts.ts'
import type { Ask } from './lifecycle-asks.ts'
import type { Runs } from './lifecycle-follow.ts'
import { emptyModel, jobsOf } from './lifecycle-model.ts'
import type { Model } from './lifecycle-model.ts'

/** A sequence under way: the model, what the workers know of, and what was asked. */
export interface Scene {
  readonly model: Model
  readonly runs: Runs
  readonly asks: readonly Ask[]
}

export function newScene(now: number): Scene {
  return { model: emptyModel(now), runs: { held: [], begun: [] }, asks: [] }
}

/** What is done together: one act, or two that two sessions do at once. */
export function actsOf(scene: Scene, draw: Draw): readonly Act[] {
  if (draw.do !== 'together') return [actOf(scene, draw) ?? []].flat()
  const [first, second] = draw.draws.map((each, index) => actOf(scene, each, index))
  if (first === undefined || first === null) return [second ?? []].flat()
  return second === undefined || second === null || areOfOne(first, second)
    ? [first]
    : [first, second]
}

/** A worker claims once at a time, and settles a run once. */
function areOfOne(a: Act, b: Act): boolean {
  if (a.do === 'claim' && b.do === 'claim') return a.worker === b.worker
  return a.do === 'settle' && b.do === 'settle' && a.run.id === b.run.id
}

/** What a draw means now; null where there is nothing that it could be done to. */
function actOf(scene: Scene, draw: Exclude<Draw, { do: 'together' }>, nth = 0): Act | null {
  const { model, runs, asks } = scene
  switch (draw.do) {
    case 'enqueue':
      return { do: 'enqueue', ask: newAsk(scene, draw.ask, nth) }
    case 'repeat': {
      const ask = nthOf(asks, draw.nth)
      return ask === null ? null : { do: 'enqueue', ask }
    }
    case 'settle': {
      const run = nthOf(runs.held, draw.nth)
      if (run === null) return null
      const follows = draw.follow ? newAsk(scene, PLAIN, nth) : null
      return { do: 'settle', run: runIn(run), fate: draw.fate, follow: follows }
    }
    case 'settle late': {
      const run = nthOf(runs.begun, draw.nth)
      return run === null ? null : { do: 'settle', run: runIn(run), fate: draw.fate, follow: null }
    }
    case 'checkpoint': {
      const run = nthOf(runs.begun, draw.nth)
      return run === null ? null : { do: 'checkpoint', run: runIn(run), carry: draw.carry }
    }
    case 'cancel':
    case 'redrive':
    case 'reschedule':
      return changeOf(model, draw)
    default:
      return draw
  }
}

const PLAIN: Omit<Ask, 'id'> = {
  kind: 'plain',
  key: 'a',
  v: 9,
  queue: 'one',
  priority: 5,
  leaseMs: 30_000,
  delay: null,
  expires: null,
}

/** Ids are not in the order of the asks, as those of several producers are not. */
function newAsk({ asks }: Scene, drawn: Omit<Ask, 'id'>, nth: number): Ask {
  const number = asks.length * 2 + 1 + nth
  const id = `01${(number * 7) % 10}${String(number).padStart(23, '0')}`
  return { ...drawn, id }
}

function changeOf(
  model: Model,
  draw: Extract<Draw, { do: 'cancel' | 'redrive' | 'reschedule' }>,
): Act | null {
  const job = nthOf(jobsOf(model), draw.nth)
  if (job === null) return null
  const which: Which = draw.all ? { kind: job.kind } : { id: job.id }
  switch (draw.do) {
    case 'cancel':
      return { do: 'cancel', which, force: draw.force }
    case 'redrive':
      return { do: 'redrive', which }
    case 'reschedule': {
      const { delay, priority } = draw
      return delay === null && priority === null
        ? null
        : { do: 'reschedule', which, delay, priority }
    }
  }
}

function runIn({ id, run, worker }: Runs['held'][number]): {
  id: string
  run: number
  worker: string
} {
  return { id, run, worker }
}

function nthOf<T>(items: readonly T[], nth: number): T | null {
  return items[nth % Math.max(1, items.length)] ?? null
}
