import type { Joined } from './fact.ts'
import { grouped, runKey } from './history.ts'
import type { FactOf, History } from './history.ts'

/**
 * Caps are never exceeded: of the handlers that a worker had called and that had not come to their
 * end, at no moment more than its concurrency, its cap for a queue, or its cap for a kind.
 */
export function capFaults(history: History): readonly string[] {
  const begun = grouped(history.of('began'), ({ worker }) => worker)
  const returned = new Map(
    history.of('returned').map((fact) => [`${runKey(fact)} ${fact.process}`, fact.at]),
  )
  const endOf = (run: FactOf<'began'>): number =>
    returned.get(`${runKey(run)} ${run.process}`) ?? Number.POSITIVE_INFINITY
  return history.of('joined').flatMap((joined) => {
    const runs = begun.get(joined.worker) ?? []
    return capsOf(joined).flatMap(({ name, limit, holds }) => {
      const most = peak(runs.filter(holds).map((run) => ({ from: run.at, to: endOf(run) })))
      return most > limit
        ? [`${joined.worker} ran ${most} at once ${name}, its cap is ${limit}`]
        : []
    })
  })
}

interface Cap {
  readonly name: string
  readonly limit: number
  readonly holds: (run: FactOf<'began'>) => boolean
}

function capsOf({ concurrency, queues, kinds }: Joined): readonly Cap[] {
  return [
    { name: 'in all', limit: concurrency, holds: () => true },
    ...Object.entries(queues).map(([queue, limit]) => ({
      name: `of queue ${queue}`,
      limit,
      holds: (run: FactOf<'began'>) => run.queue === queue,
    })),
    ...Object.entries(kinds).map(([kind, limit]) => ({
      name: `of kind ${kind}`,
      limit,
      holds: (run: FactOf<'began'>) => run.kind === kind,
    })),
  ]
}

/** How many overlap at most; one that ends at an instant makes room for one that begins then. */
function peak(spans: readonly { readonly from: number; readonly to: number }[]): number {
  const steps = spans.flatMap(({ from, to }) => [
    { at: from, by: 1 },
    { at: to, by: -1 },
  ])
  let now = 0
  let most = 0
  for (const { by } of steps.toSorted((one, other) => one.at - other.at || one.by - other.by)) {
    now += by
    most = Math.max(most, now)
  }
  return most
}
