import type { Act, Draw } from './lifecycle-acts.ts'
import { sweep } from './lifecycle-asks.ts'
import type { Ask } from './lifecycle-asks.ts'
import { follow } from './lifecycle-follow.ts'
import type { Answer } from './lifecycle-follow.ts'
import type { LifeMill } from './lifecycle-mill.ts'
import { actsOf, newScene } from './lifecycle-scene.ts'
import type { Scene } from './lifecycle-scene.ts'
import { pictureIn, pictureOf } from './lifecycle-tables.ts'
import type { Picture } from './lifecycle-tables.ts'

/** Where a sequence begins: 2025-06-15T12:00:00Z. */
const START = Date.UTC(2025, 5, 15, 12)
/** Between two acts, so that no two share an instant. */
const TICK = 13

export interface Counts {
  sequences: number
  acts: number
  /** Runs that were begun. */
  runs: number
  /** By what was done. */
  readonly by: Map<string, number>
}

/**
 * Does the acts one after another to the model and to the mill, and compares after each: what was
 * answered, where every job stands, and the invariants of the tables. Of two that are done at once the
 * model must agree with one order or the other. Throws with the script of what was done.
 */
export async function sequence(
  mill: LifeMill,
  drawn: readonly Draw[],
  counts: Counts,
): Promise<void> {
  let scene = newScene(START)
  const script: string[] = []
  await mill.begin(START)
  counts.sequences += 1
  for (const draw of drawn) {
    const acts = actsOf(scene, draw)
    if (acts.length === 0) continue
    scene.model.now += TICK
    mill.now = scene.model.now
    script.push(...acts.map((act, index) => lineOf(scene, act, index)))
    const { next, problems } = await done(mill, scene, acts).catch((error: unknown) => ({
      next: scene,
      problems: [String(error)],
    }))
    if (problems.length > 0) throw new Error(['', ...script, ...problems].join('\n'))
    count(counts, acts, next.runs.begun.length - scene.runs.begun.length)
    scene = next
  }
}

function count(counts: Counts, acts: readonly Act[], runs: number): void {
  counts.runs += runs
  counts.acts += acts.length
  const names = acts.length > 1 ? ['two at once'] : acts.map((act) => act.do)
  for (const name of names) counts.by.set(name, (counts.by.get(name) ?? 0) + 1)
}

interface Done {
  readonly next: Scene
  readonly problems: readonly string[]
}

async function done(mill: LifeMill, scene: Scene, acts: readonly Act[]): Promise<Done> {
  const answers = await mill.perform(acts)
  const found = await pictureIn(mill.sql, START)
  const violations = await mill.violations()
  const pairs = acts.map((act, index) => ({ act, answer: answers[index] ?? null }))
  const orders = pairs.length === 1 ? [pairs] : [pairs, pairs.toReversed()]
  const endings = orders.flatMap((order) => followed(scene, order, found))
  const agreed = endings.find(({ problems }) => problems.length === 0)
  return {
    next: agreed?.next ?? scene,
    problems: [...violations, ...(agreed === undefined ? endings.flatMap(told) : [])],
  }
}

type Order = readonly { readonly act: Act; readonly answer: Answer }[]

/**
 * What the model makes of acts in this order, beside what the mill made of them; and the same if what
 * had expired was moved before either was decided.
 */
function followed(scene: Scene, order: Order, found: Picture): readonly Done[] {
  const asks = order.flatMap(({ act }) => (act.do === 'enqueue' ? [act.ask] : []))
  const plain = ending(scene, order, found)
  if (order.length === 1 || asks.every(({ kind }) => !SWEEPING.has(kind))) return [plain]
  const swept = structuredClone(scene)
  for (const ask of asks) if (SWEEPING.has(ask.kind)) sweep(swept.model, ask)
  return [plain, ending(swept, order, found)]
}

const SWEEPING: ReadonlySet<string> = new Set(['folds', 'debounced', 'live', 'rerun'])

function ending(scene: Scene, order: Order, found: Picture): Done {
  const { model, runs, asks } = structuredClone(scene)
  const complaints = order.flatMap(
    (each) => follow(model, runs, { ...each, isAlone: order.length === 1 }) ?? [],
  )
  const wanted = pictureOf(model, START)
  const problems = [
    ...complaints,
    ...wanted.filter((line) => !found.includes(line)).map((line) => `by the model:  ${line}`),
    ...found.filter((line) => !wanted.includes(line)).map((line) => `in the tables: ${line}`),
  ]
  return {
    next: { model, runs, asks: [...asks, ...order.flatMap(({ act }) => asksIn(act))] },
    problems,
  }
}

function asksIn(act: Act): readonly Ask[] {
  if (act.do === 'enqueue') return [act.ask]
  return act.do === 'settle' && act.follow !== null ? [act.follow] : []
}

function told({ problems }: Done, index: number, all: readonly Done[]): readonly string[] {
  return all.length === 1
    ? problems
    : [`as the model has it, ${index + 1} of ${all.length}:`, ...problems]
}

/** A line of the script: when, and what was done with its parts. */
function lineOf({ model }: Scene, { do: what, ...parts }: Act, index: number): string {
  const words = Object.entries(parts).map(([name, value]) => `${name} ${JSON.stringify(value)}`)
  const when = index === 0 ? `+${model.now - START}` : 'at once'
  return `  ${when} ${[what, ...words].join(' ')}`
}
