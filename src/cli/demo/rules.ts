import type { Evidence, JobRow } from './evidence.ts'
import type { Delivery } from './payloads.ts'
import type { Recount } from './recount.ts'

/** What is compared: the tables, what arrived, and the sums that follow from it. */
export interface Facts {
  readonly evidence: Evidence
  readonly deliveries: readonly Delivery[]
  readonly expected: Recount
}

/** A sentence that must be true, and a search for what makes it false. */
export interface Rule {
  readonly rule: string
  readonly faults: (facts: Facts) => readonly string[]
}

export const RULES: readonly Rule[] = [
  { rule: 'every delivery is stored once, word for word', faults: storedFaults },
  { rule: 'every delivery has one job, every job its delivery', faults: pairFaults },
  { rule: 'every job has ended, in one place', faults: endFaults },
  { rule: 'every job still has the input it was given, to the letter', faults: inputFaults },
  { rule: 'one job is dead: the one that gave up', faults: deadFaults },
  { rule: 'every run is on record once', faults: runFaults },
  { rule: 'every failure is on record', faults: failureFaults },
  { rule: 'every delivery that was processed took effect once', faults: effectFaults },
  { rule: 'the sums by repository match a recount of the payloads', faults: repositoryFaults },
  { rule: 'the sums by sender match a recount of the payloads', faults: senderFaults },
  { rule: 'the projection of the stream matches a recount of the payloads', faults: totalsFaults },
]

function storedFaults({ evidence, deliveries }: Facts): readonly string[] {
  const given = new Map(deliveries.map(({ id, event, body }) => [id, `${event} ${body}`]))
  const stored = evidence.deliveries.map(({ id, event, body }) => [id, `${event} ${body}`] as const)
  return differences('delivery', given, stored)
}

function pairFaults({ evidence }: Facts): readonly string[] {
  const jobs = new Map(evidence.jobs.map(({ id, kind }) => [id, kind]))
  const pairs = evidence.deliveries.map(({ job, event }) => [job, `github.${event}`] as const)
  return differences('job', jobs, pairs)
}

function endFaults({ evidence }: Facts): readonly string[] {
  const repeated = evidence.jobs.filter(({ id }, index) => evidence.jobs[index - 1]?.id === id)
  const living = evidence.jobs.filter(({ state }) => state !== 'completed' && state !== 'dead')
  return [
    ...repeated.map(({ id }) => `job ${id} is in several places`),
    ...living.map(({ id, state }) => `job ${id} is ${state}`),
  ]
}

function inputFaults({ evidence }: Facts): readonly string[] {
  const inputs = new Map(
    evidence.deliveries.map(({ id, body, job }) => [job, `{"delivery":"${id}","payload":${body}}`]),
  )
  const changed = evidence.jobs.filter(({ id, payload }) => payload !== inputs.get(id))
  return changed.map(({ id }) => `job ${id} has another input than it was given`)
}

function deadFaults({ evidence, expected }: Facts): readonly string[] {
  const jobs = new Map(evidence.deliveries.map(({ id, job }) => [id, job]))
  const given = new Map([...expected.hopeless].map((id) => [jobs.get(id) ?? '', 'gave-up']))
  const dead = evidence.jobs.filter(({ state }) => state === 'dead')
  return differences(
    'dead job',
    given,
    dead.map(({ id, detail }) => [id, detail ?? '']),
  )
}

function runFaults({ evidence }: Facts): readonly string[] {
  const recorded = byJob(evidence.runs, ({ job }) => job)
  return evidence.jobs.flatMap((job) => {
    const runs = (recorded.get(job.id) ?? []).map(({ run }) => run)
    const isWhole = runs.length === job.run && runs.every((run, index) => run === index + 1)
    return isWhole ? [] : [`job ${job.id} has begun ${job.run} runs, on record: ${listed(runs)}`]
  })
}

function failureFaults({ evidence }: Facts): readonly string[] {
  const recorded = byJob(evidence.failures, (job) => job)
  const count = ({ id }: JobRow): number => recorded.get(id)?.length ?? 0
  const wrong = evidence.jobs.filter((job) => job.failures !== count(job))
  return wrong.map(
    (job) => `job ${job.id} counts ${job.failures} failures, on record: ${count(job)}`,
  )
}

function effectFaults({ deliveries, evidence, expected }: Facts): readonly string[] {
  const possible = deliveries.filter(({ id }) => !expected.hopeless.has(id))
  return differences(
    'effect of delivery',
    new Map(possible.map(({ id }) => [id, ''])),
    evidence.processed.map((id) => [id, '']),
  )
}

function repositoryFaults({ evidence, expected }: Facts): readonly string[] {
  return differences(
    'repository',
    new Map([...expected.repositories].map(([name, row]) => [name, JSON.stringify(row)])),
    evidence.repositories.map((row) => [row.name, JSON.stringify(row)]),
  )
}

function senderFaults({ evidence, expected }: Facts): readonly string[] {
  return differences(
    'sender',
    new Map([...expected.senders].map(([login, row]) => [login, JSON.stringify(row)])),
    evidence.senders.map((row) => [row.login, JSON.stringify(row)]),
  )
}

function totalsFaults({ evidence, expected }: Facts): readonly string[] {
  return differences(
    'projection of event',
    new Map([...expected.events].map(([event, row]) => [event, JSON.stringify(row)])),
    evidence.totals.map((row) => [row.event, JSON.stringify(row)]),
  )
}

function byJob<Row>(
  rows: readonly Row[],
  jobOf: (row: Row) => string,
): ReadonlyMap<string, readonly Row[]> {
  const groups = new Map<string, Row[]>()
  for (const row of rows) {
    const group = groups.get(jobOf(row))
    if (group === undefined) groups.set(jobOf(row), [row])
    else group.push(row)
  }
  return groups
}

/** Both sides as names and values: what is missing, too much, there twice, or different. */
function differences(
  what: string,
  expected: ReadonlyMap<string, string>,
  found: readonly (readonly [name: string, value: string])[],
): readonly string[] {
  const names = new Set(found.map(([name]) => name))
  const missing = [...expected.keys()].filter((name) => !names.has(name))
  const seen = new Set<string>()
  const wrong = found.flatMap(([name, value]) => {
    const isRepeated = seen.has(name)
    seen.add(name)
    if (isRepeated) return [`${what} ${name} is there twice`]
    const wanted = expected.get(name)
    if (wanted === undefined) return [`${what} ${name} should not be there`]
    if (wanted === value) return []
    return [`${what} ${name} is ${short(value)}, expected ${short(wanted)}`]
  })
  return [...missing.map((name) => `${what} ${name} is missing`), ...wrong]
}

function listed(runs: readonly number[]): string {
  return runs.length === 0 ? 'none' : runs.join(', ')
}

function short(text: string): string {
  return text.length > 100 ? `${text.slice(0, 97)}...` : text
}
