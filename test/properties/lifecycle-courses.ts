import type { Ask } from './lifecycle-asks.ts'
import type { Done } from './lifecycle-follow.ts'
import type { KindName } from './lifecycle-kinds.ts'

/**
 * What a mill does in one statement: an act, or what goes with an act in a statement of its own.
 *
 * - `sweep`: a keyed ask moves an expired job that holds its slot, whatever becomes of the ask (D4);
 * - `look`: asks that waited for a run of their key are due where none is under way (D1, rerun).
 */
export type Step =
  | { readonly step: 'act'; readonly done: Done }
  | { readonly step: 'sweep'; readonly ask: Ask }
  | { readonly step: 'look' }

export type Course = readonly Step[]

const LOOK: Step = { step: 'look' }

/**
 * The courses that acts may have taken which were done at once: as if one came after the other, but
 * for what goes in a statement of its own, since the other act may come between the two. Each ends
 * with a look, as workers look each second.
 */
export function coursesOf(acts: readonly Done[]): readonly Course[] {
  const [one, other] = acts
  if (one === undefined) return []
  if (other === undefined) return [[stepOf(one), LOOK]]
  return [
    { first: one, second: other },
    { first: other, second: one },
  ].flatMap(({ first, second }) =>
    sweepsBefore(acts).flatMap((sweeps) =>
      looksAfter(first).map((looks) => [...sweeps, stepOf(first), ...looks, stepOf(second), LOOK]),
    ),
  )
}

function stepOf(done: Done): Step {
  return { step: 'act', done }
}

/**
 * An ask that finds its slot taken again begins anew (its write is guarded by the row it looked at),
 * and what it swept stays swept: so it may be that the sweeps come before both acts.
 */
function sweepsBefore(acts: readonly Done[]): readonly Course[] {
  const sweeps = acts.flatMap(({ act }): Course =>
    act.do === 'enqueue' && SWEEPING.has(act.ask.kind) ? [{ step: 'sweep', ask: act.ask }] : [],
  )
  return sweeps.length === 0 ? [[]] : [[], sweeps]
}

const SWEEPING: ReadonlySet<KindName> = new Set(['folds', 'debounced', 'live', 'rerun'])

/**
 * Whoever ends a run looks for asks that waited for it by a statement after that one. An act that comes
 * in between may claim the job that just returned, or another one of its key: then they go on waiting,
 * for the new run.
 */
function looksAfter({ act }: Done): readonly Course[] {
  const endsRun = act.do === 'settle' || (act.do === 'cancel' && act.force)
  return endsRun ? [[], [LOOK]] : [[]]
}
