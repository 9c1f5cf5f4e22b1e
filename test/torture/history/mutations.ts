import type { About, Fact } from './fact.ts'
import type { FactOf } from './history.ts'

/** A history with one fault, planted at some place of it; undefined where it has no place for it. */
export type Mutation = (facts: readonly Fact[], which: number) => readonly Fact[] | undefined

const NEVER = Number.MAX_SAFE_INTEGER

/** The faults that a broken Millrace could leave, each under what the checker must find. */
export const MUTATIONS: ReadonlyMap<string, Mutation> = new Map<string, Mutation>([
  ['an acknowledged job is nowhere', drop('placed')],
  ['a rolled back ask made a job', repeat('placed', () => ({ job: 'other' }))],
  ['a job is in two places', change('placed', () => ({ places: ['ready', 'finished'] }))],
  ['a run was not recorded', drop('recorded')],
  ['a run was recorded twice', repeat('recorded')],
  ['a job ended twice', change('recorded', () => ({ outcome: 'completed' }), hasNext)],
  ['a run began twice', repeat('began', () => ({ process: 'other' }))],
  ['a run number went back', change('began', () => ({ at: NEVER }), isNextOfUnstruck)],
  ['two runs were under way at once', change('returned', () => ({ at: NEVER }), hasNext)],
  ['a loss is explained by nothing', drop('struck', struckOneWithNext)],
  [
    'a run began before its job was back',
    change('recorded', () => ({ recordedAt: NEVER }), hasNext),
  ],
  ['a settlement that applied was lost', change('settled', () => ({ outcome: 'cancelled' }))],
  ['a settlement that missed was written', change('settled', () => ({ applied: false }))],
  ['a settlement applied twice', repeat('settled')],
  ['an effect is missing', drop('effect')],
  ['an effect is there twice', repeat('effect')],
  ['an effect is of another worker', change('effect', () => ({ worker: 'other' }))],
  ['an effect is of another run', change('effect', ({ run }) => ({ run: run + 1 }))],
  ['a run began before its ask was due', change('enqueued', () => ({ dueAt: NEVER }), wasRun)],
  ['a run began before its retry was due', change('recorded', () => ({ dueAt: NEVER }), hasNext)],
  ['a job was claimed after it expired', change('enqueued', () => ({ expiresAt: 0 }), wasRun)],
  ['a worker ran more than its cap', change('joined', () => ({ concurrency: 0 }))],
  [
    'a worker ran more of a queue than its cap',
    change('joined', () => ({ queues: { default: 0 } })),
  ],
  ['a worker ran more of a kind than its cap', change('joined', () => ({ kinds: { work: 0 } }))],
  ['a boundary was not fired', drop('fired')],
  ['a boundary was fired twice', repeat('fired')],
  ['a fire was at no boundary', repeat('fired', ({ boundary }) => ({ boundary: boundary + 1 }))],
  ['an event was missed', drop('saw', isOnce)],
  ['an event was seen out of order', change('saw', () => ({ at: NEVER }), isOnceAndNotLast)],
  ['an event was handled twice', repeat('saw', () => ({}), isOnce)],
  ['an event was seen as another', change('saw', () => ({ event: 'other' }))],
  ['a committed event has no offset', drop('sequenced')],
  ['an event has two offsets', repeat('sequenced', ({ offset }) => ({ offset: offset + 100 }))],
  ['an event was rolled back and has an offset', change('published', () => ({ event: 'other' }))],
  ['two had a lock at once', lengthened],
  ['a token was given twice', repeat('took', () => ({ process: 'other' }))],
  ['a token went back', change('took', () => ({ token: 0 }), isNotFirst)],
])

type What = About['what']
type Which<W extends What> = (fact: FactOf<W>, facts: readonly Fact[]) => boolean
type Changes<W extends What> = (fact: FactOf<W>) => Readonly<Record<string, unknown>>

function drop<W extends What>(what: W, where: Which<W> = () => true): Mutation {
  return (facts, which) => {
    const found = chosen(facts, { what, where, which })
    return found && facts.filter((fact) => fact !== found)
  }
}

function change<W extends What>(
  what: W,
  changes: Changes<W>,
  where: Which<W> = () => true,
): Mutation {
  return (facts, which) => {
    const found = chosen(facts, { what, where, which })
    return found && facts.map((fact) => (fact === found ? { ...fact, ...changes(found) } : fact))
  }
}

function repeat<W extends What>(
  what: W,
  changes: Changes<W> = () => ({}),
  where: Which<W> = () => true,
): Mutation {
  return (facts, which) => {
    const found = chosen(facts, { what, where, which })
    return found && [...facts, { ...found, ...changes(found) }]
  }
}

interface Choice<W extends What> {
  readonly what: W
  readonly where: Which<W>
  readonly which: number
}

function chosen<W extends What>(
  facts: readonly Fact[],
  { what, where, which }: Choice<W>,
): FactOf<W> | undefined {
  const found = facts
    .filter((fact): fact is FactOf<W> => fact.what === what)
    .filter((fact) => where(fact, facts))
  return found[which % Math.max(1, found.length)]
}

interface OfRun {
  readonly job: string
  readonly run: number
}

function hasNext({ job, run }: OfRun, facts: readonly Fact[]): boolean {
  return facts.some((each) => each.what === 'began' && each.job === job && each.run === run + 1)
}

function isNextOfUnstruck(fact: FactOf<'began'>, facts: readonly Fact[]): boolean {
  const isStruck = facts.some((each) => each.what === 'struck' && each.target === fact.process)
  return hasNext(fact, facts) && !isStruck
}

function struckOneWithNext({ target }: FactOf<'struck'>, facts: readonly Fact[]): boolean {
  return facts.some(
    (each) => each.what === 'began' && each.process === target && hasNext(each, facts),
  )
}

function wasRun({ job }: FactOf<'enqueued'>, facts: readonly Fact[]): boolean {
  return facts.some((each) => each.what === 'began' && each.job === job)
}

function isOnce({ consumer }: FactOf<'saw'>): boolean {
  return consumer === 'once'
}

function isOnceAndNotLast(fact: FactOf<'saw'>, facts: readonly Fact[]): boolean {
  return isOnce(fact) && facts.some((each) => each.what === 'saw' && each.offset > fact.offset)
}

function isNotFirst({ token }: FactOf<'took'>, facts: readonly Fact[]): boolean {
  return facts.some((each) => each.what === 'took' && each.token < token)
}

/** One that has a successor did not let go, and its term goes on. */
function lengthened(facts: readonly Fact[], which: number): readonly Fact[] | undefined {
  const hasSuccessor = ({ token }: FactOf<'took'>): boolean =>
    facts.some((each) => each.what === 'took' && each.token > token)
  const found = chosen(facts, { what: 'took', where: hasSuccessor, which })
  if (found === undefined) return undefined
  return facts.flatMap((fact): readonly Fact[] => {
    if (fact === found) return [{ ...found, until: NEVER }]
    return fact.what === 'let-go' && fact.token === found.token ? [] : [fact]
  })
}
