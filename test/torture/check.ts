import type { Evidence, Execution, Interruption, RunRecord, TortureJob } from './evidence.ts'

/**
 * What must hold whatever was done to the processes: no job lost, doubled or left; every run
 * recorded once, executed once, by one worker at a time; every run taken from a worker explained by
 * what was done to it. Pure: evidence in, one sentence for each violation out.
 */
export function violationsOf(evidence: Evidence): readonly string[] {
  const known = indexOf(evidence)
  return [
    ...askFaults(evidence),
    ...evidence.jobs.flatMap((job) => [
      ...placeFaults(job),
      ...recordFaults(job, known),
      ...endFaults(job, known, evidence.failureLimit),
    ]),
    ...evidence.records.flatMap((record) => [
      ...executionFaults(record, known),
      ...lossFaults(record, known),
      ...orderFaults(record, known),
      ...overlapFaults(record, known),
    ]),
    ...evidence.executions.flatMap((execution) => unrecordedFaults(execution, known)),
  ]
}

/** Whether the run was taken from a worker that went away without a word. */
export function isRecovered(record: RunRecord): boolean {
  return record.recoveredBy !== null
}

// By so much, in milliseconds, may the clocks of two clients differ: each is set by the database's.
const SKEW = 250
// What keeps a worker from its leases for so long that others may take its runs.
const STALLS: ReadonlySet<Interruption['what']> = new Set(['kill', 'freeze', 'crash'])

interface Index {
  /** The records of a job, in the order of their runs. */
  readonly ofJob: ReadonlyMap<string, readonly RunRecord[]>
  readonly ofRun: ReadonlyMap<string, RunRecord>
  readonly executions: ReadonlyMap<string, readonly Execution[]>
  readonly interruptions: readonly Interruption[]
}

function indexOf({ records, executions, interruptions }: Evidence): Index {
  return {
    ofJob: grouped(
      records.toSorted((a, b) => a.run - b.run),
      ({ job }) => job,
    ),
    ofRun: new Map(records.map((record) => [runKey(record), record])),
    executions: grouped(executions, runKey),
    interruptions,
  }
}

function askFaults({ asks, jobs, interruptions }: Evidence): readonly string[] {
  const faults: string[] = []
  const byNumber = grouped(jobs, ({ number }) => number)
  for (const { number, id, expected } of asks) {
    const found = byNumber.get(number) ?? []
    if (expected === 'there' && !found.some((job) => id === null || job.id === id)) {
      faults.push(`ask ${number} was answered with ${id ?? 'a commit'}, and there is no such job`)
    }
    if (expected === 'absent' && found.length > 0) {
      faults.push(`ask ${number} was rolled back, and there is a job of it`)
    }
  }
  const asked = new Set(asks.map(({ number }) => number))
  // A producer that was killed had asks under way that it never logged.
  const mayBeUnlogged = interruptions.some(({ what }) => what === 'kill-producer')
  for (const [number, { length }] of byNumber) {
    if (length > 1) faults.push(`ask ${number} made ${length} jobs`)
    if (!asked.has(number) && !mayBeUnlogged) faults.push(`nobody asked for the job of ${number}`)
  }
  return faults
}

function placeFaults({ id, places }: TortureJob): readonly string[] {
  if (places.length === 1 && places[0] === 'finished') return []
  return [`job ${id} did not end in one place: it is in ${places.join(' and ') || 'none'}`]
}

/** Runs 1 … n, each recorded once, the last one the end and no other. */
function recordFaults({ id }: TortureJob, { ofJob }: Index): readonly string[] {
  const faults: string[] = []
  const records = ofJob.get(id) ?? []
  const runs = records.map(({ run }) => run)
  if (runs.length === 0 || runs.some((run, position) => run !== position + 1)) {
    faults.push(`job ${id} has records of the runs ${runs.join(', ') || 'none'}, not of each once`)
  }
  const ends = records.filter(isEnd)
  if (ends.length !== 1 || ends[0] !== records.at(-1)) {
    faults.push(`job ${id} went ${records.map(({ outcome }) => outcome).join(', ')}`)
  }
  return faults
}

/** Ended as its task says, and with as many failures as were recorded. */
function endFaults(job: TortureJob, { ofJob }: Index, failureLimit: number): readonly string[] {
  const records = ofJob.get(job.id) ?? []
  const end = records.at(-1)
  if (end === undefined) return []
  const faults: string[] = []
  const failed = records.filter(isFailure).length
  if (end.failures !== failed) {
    faults.push(`job ${job.id} counts ${end.failures} failures, its records tell of ${failed}`)
  }
  const ended = end.outcome === 'dead' ? (end.reason ?? 'dead') : end.outcome
  const reachedLimit = ended === 'failed' && failed === failureLimit
  // Runs that were taken from their workers count as failures: any task may reach the limit by them.
  const mayFail = job.ends === 'failed' || records.some(isRecovered)
  const isAsPlanned = ended === 'failed' ? reachedLimit && mayFail : ended === job.ends
  if (!isAsPlanned) faults.push(`job ${job.id} ended ${ended} after ${failed} failures`)
  if (ended === 'completed' && failed < job.failures) {
    faults.push(`job ${job.id} completed after ${failed} failures, its task plans ${job.failures}`)
  }
  return faults
}

/** Executed exactly once, by the worker that the record names; not at all only where the answer of a claim may have been lost. */
function executionFaults(
  record: RunRecord,
  { executions, interruptions }: Index,
): readonly string[] {
  const found = executions.get(runKey(record)) ?? []
  const wentBack = record.outcome === 'released' || isRecovered(record)
  const mayBeMissing = wentBack && interruptions.some((each) => concerns(each, record))
  if (found.length === 0 && !mayBeMissing) return [`${nameOf(record)} was never executed`]
  if (found.length > 1) return [`${nameOf(record)} was executed ${found.length} times`]
  const faults: string[] = []
  for (const { worker, endedAt } of found) {
    if (worker !== record.worker) {
      faults.push(`${nameOf(record)} is recorded of ${record.worker}, executed by ${worker}`)
    }
    if (endedAt === null && !wentBack) {
      faults.push(`${nameOf(record)} is recorded as ${record.outcome}, its handler did not end`)
    }
  }
  return faults
}

function unrecordedFaults(execution: Execution, { ofRun }: Index): readonly string[] {
  return ofRun.has(runKey(execution)) ? [] : [`${nameOf(execution)} was executed and not recorded`]
}

/** A run is taken only from a worker that something was done to meanwhile. */
function lossFaults(record: RunRecord, { interruptions }: Index): readonly string[] {
  if (!isRecovered(record)) return []
  const isExplained = interruptions.some((each) => STALLS.has(each.what) && concerns(each, record))
  return isExplained ? [] : [`${nameOf(record)} was taken from ${record.worker}, which was well`]
}

/** A run begins after the one before it was over. */
function orderFaults(record: RunRecord, { ofRun }: Index): readonly string[] {
  const next = ofRun.get(runKey({ job: record.job, run: record.run + 1 }))
  if (next === undefined || record.at <= next.startedAt + SKEW) return []
  return [`${nameOf(next)} began ${record.at - next.startedAt} ms before the end of the one before`]
}

/** Two executions of a job overlap only where the first had lost its lease, and was told in time if it could hear. */
function overlapFaults(record: RunRecord, { executions, interruptions }: Index): readonly string[] {
  const [own] = executions.get(runKey(record)) ?? []
  const [next] = executions.get(runKey({ job: record.job, run: record.run + 1 })) ?? []
  if (own === undefined || next === undefined) return []
  if (own.endedAt !== null && own.endedAt <= next.beganAt) return []
  if (own.endedAt === null && own.toldAt === null) return []
  if (!isRecovered(record))
    return [`${nameOf(next)} began while the run before still held its lease`]
  const wasDeafened = interruptions.some(
    (each) => each.worker === record.worker && STALLS.has(each.what) && concerns(each, record),
  )
  const wasTold = own.toldAt !== null && own.toldAt <= next.beganAt
  return wasTold || wasDeafened ? [] : [`${nameOf(record)} was not told that it lost its lease`]
}

/** Whether the interruption touched the worker of this run while the run was its own. */
function concerns({ worker, from, to }: Interruption, record: RunRecord): boolean {
  const isOfWorker = worker === null || worker === record.worker
  return isOfWorker && from <= record.at + SKEW && to >= record.startedAt - SKEW
}

function isEnd({ outcome }: RunRecord): boolean {
  return outcome === 'completed' || outcome === 'dead' || outcome === 'cancelled'
}

function isFailure({ outcome }: RunRecord): boolean {
  return outcome === 'retried' || outcome === 'stale-recovered' || outcome === 'dead'
}

function nameOf({ job, run }: { readonly job: string; readonly run: number }): string {
  return `run ${run} of job ${job}`
}

function runKey({ job, run }: { readonly job: string; readonly run: number }): string {
  return `${job} ${run}`
}

function grouped<T, Key>(values: readonly T[], keyOf: (value: T) => Key): Map<Key, T[]> {
  const groups = new Map<Key, T[]>()
  for (const value of values) {
    const key = keyOf(value)
    const group = groups.get(key)
    if (group === undefined) groups.set(key, [value])
    else group.push(value)
  }
  return groups
}
