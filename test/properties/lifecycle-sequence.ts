import type { Act, Draw } from './lifecycle-acts.ts'
import { sweep } from './lifecycle-asks.ts'
import type { Ask } from './lifecycle-asks.ts'
import { coursesOf } from './lifecycle-courses.ts'
import type { Course, Step } from './lifecycle-courses.ts'
import { follow } from './lifecycle-follow.ts'
import type { LifeMill } from './lifecycle-mill.ts'
import { releaseReruns } from './lifecycle-model.ts'
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
 * model must agree with one of their courses. Throws with the script of what was done.
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
  const isAlone = acts.length === 1
  const pairs = acts.map((act, index) => ({ act, answer: answers[index] ?? null, isAlone }))
  const before = { ...scene, asks: [...scene.asks, ...acts.flatMap(asksIn)] }
  const disagreed: Done[] = []
  for (const course of coursesOf(pairs)) {
    const { next, problems } = ending(before, course, found)
    if (problems.length === 0) return { next, problems: violations }
    disagreed.push({ next, problems })
  }
  return { next: scene, problems: [...violations, ...disagreed.flatMap(told)] }
}

/** What the model makes of such a course, beside what the mill made of the acts. */
function ending(scene: Scene, course: Course, found: Picture): Done {
  const next = structuredClone(scene)
  const complaints = course.flatMap((step) => stepped(next, step) ?? [])
  const wanted = pictureOf(next.model, START)
  const problems = [
    ...complaints,
    ...wanted.filter((line) => !found.includes(line)).map((line) => `by the model:  ${line}`),
    ...found.filter((line) => !wanted.includes(line)).map((line) => `in the tables: ${line}`),
  ]
  return { next, problems }
}

function stepped({ model, runs }: Scene, step: Step): string | null {
  switch (step.step) {
    case 'act':
      return follow(model, runs, step.done)
    case 'sweep':
      sweep(model, step.ask)
      return null
    case 'look':
      releaseReruns(model)
      return null
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
