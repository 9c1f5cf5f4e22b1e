import type { Act, Draw, Which } from './lifecycle-acts.ts'
import type { Ask } from './lifecycle-asks.ts'
import { follow } from './lifecycle-follow.ts'
import type { Runs } from './lifecycle-follow.ts'
import type { LifeMill } from './lifecycle-mill.ts'
import { emptyModel, jobsOf } from './lifecycle-model.ts'
import type { Model } from './lifecycle-model.ts'
import { pictureIn, pictureOf } from './lifecycle-tables.ts'

/** Where a sequence begins: 2025-06-15T12:00:00Z. */
const START = Date.UTC(2025, 5, 15, 12)
/** Between two acts, so that no two share an instant. */
const TICK = 13

export interface Counts {
  sequences: number
  acts: number
  /** By what was done. */
  readonly by: Map<string, number>
}

/**
 * Does the acts one after another to the model and to the mill, and compares after each: what was
 * answered, where every job stands, and the invariants of the tables. Throws with the script of what
 * was done.
 */
export async function sequence(
  mill: LifeMill,
  drawn: readonly Draw[],
  counts: Counts,
): Promise<void> {
  const scene: Scene = { model: emptyModel(START), runs: { held: [], begun: [] }, asks: [] }
  const script: string[] = []
  await mill.begin(START)
  counts.sequences += 1
  for (const draw of drawn) {
    const act = actOf(scene, draw)
    if (act === null) continue
    counts.acts += 1
    counts.by.set(act.do, (counts.by.get(act.do) ?? 0) + 1)
    scene.model.now += TICK
    mill.now = scene.model.now
    script.push(`  +${scene.model.now - START} ${textOf(act)}`)
    const problems = await doneBoth(mill, scene, act)
    if (problems.length > 0) throw new Error(['', ...script, ...problems].join('\n'))
  }
}

interface Scene {
  readonly model: Model
  readonly runs: Runs
  readonly asks: Ask[]
}

async function doneBoth(mill: LifeMill, { model, runs }: Scene, act: Act): Promise<string[]> {
  const answer = await mill.perform(act)
  const complaint = follow(model, runs, { act, answer })
  const wanted = pictureOf(model, START)
  const found = await pictureIn(mill.sql, START)
  return [
    ...(complaint === null ? [] : [complaint]),
    ...(await mill.violations()),
    ...wanted.filter((line) => !found.includes(line)).map((line) => `by the model:  ${line}`),
    ...found.filter((line) => !wanted.includes(line)).map((line) => `in the tables: ${line}`),
  ]
}

/** What a draw means now; null where there is nothing that it could be done to. */
function actOf(scene: Scene, draw: Draw): Act | null {
  const { model, runs, asks } = scene
  switch (draw.do) {
    case 'enqueue':
      return { do: 'enqueue', ask: newAsk(scene, draw.ask) }
    case 'repeat': {
      const ask = nthOf(asks, draw.nth)
      return ask === null ? null : { do: 'enqueue', ask }
    }
    case 'settle': {
      const run = nthOf(runs.held, draw.nth)
      if (run === null) return null
      const follows = draw.follow ? newAsk(scene, PLAIN) : null
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
function newAsk({ asks }: Scene, drawn: Omit<Ask, 'id'>): Ask {
  const number = asks.length + 1
  const id = `01${(number * 7) % 10}${String(number).padStart(23, '0')}`
  const ask = { ...drawn, id }
  asks.push(ask)
  return ask
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

/** A line of the script: what was done, with its parts. */
function textOf({ do: what, ...parts }: Act): string {
  const words = Object.entries(parts).map(([name, value]) => `${name} ${JSON.stringify(value)}`)
  return [what, ...words].join(' ')
}
