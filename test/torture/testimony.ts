import type { Ask, Execution, Interruption, RunRecord, TortureJob } from './evidence.ts'
import type { Fact } from './history/fact.ts'
import { historyOf, keyed, runKey } from './history/history.ts'

/** What the processes of the torture told, as its own checker wants it: by call, and by ask. */
export function executionsOf(facts: readonly Fact[]): readonly Execution[] {
  const history = historyOf(facts, 0)
  const told = keyed(history.of('told'), ownKey)
  const returned = keyed(history.of('returned'), ownKey)
  return history.of('began').map((began) => ({
    job: began.job,
    run: began.run,
    worker: began.worker,
    beganAt: began.at,
    toldAt: told.get(ownKey(began))?.at ?? null,
    endedAt: returned.get(ownKey(began))?.at ?? null,
  }))
}

/** `orders`: what was written beside asks whose answer is not known. */
export function asksOf(facts: readonly Fact[], orders: ReadonlySet<number>): readonly Ask[] {
  return facts.flatMap((fact): readonly Ask[] => {
    if (fact.what === 'enqueued') return [{ number: fact.ask, id: fact.job, expected: 'there' }]
    if (fact.what === 'rolled-back') return [{ number: fact.ask, id: null, expected: 'absent' }]
    if (fact.what !== 'unanswered') return []
    const beside = orders.has(fact.ask) ? 'there' : 'absent'
    return [{ number: fact.ask, id: null, expected: fact.beside ? beside : 'unknown' }]
  })
}

/** What the tables say and what was done to the processes, as facts of a history. */
export function tableFacts(
  jobs: readonly TortureJob[],
  records: readonly RunRecord[],
): readonly Fact[] {
  const told = { process: 'tables', at: Date.now() }
  return [
    ...jobs.map(({ id, number, places }): Fact => {
      return { ...told, what: 'placed', job: id, ask: number, places }
    }),
    ...records.map(({ at, ...record }): Fact => {
      const { job, run, outcome, worker, startedAt, dueAt } = record
      const own = { job, run, outcome, worker, startedAt, dueAt }
      return { ...told, what: 'recorded', ...own, recordedAt: at }
    }),
  ]
}

export function strikeFacts(interruptions: readonly Interruption[]): readonly Fact[] {
  return interruptions.map(({ what, worker, from, to }): Fact => {
    const strike = { how: what, target: worker, from, to: Number.isFinite(to) ? to : null }
    return { at: from, process: 'harness', what: 'struck', ...strike }
  })
}

function ownKey(fact: Fact & { readonly job: string; readonly run: number }): string {
  return `${runKey(fact)} ${fact.process}`
}
