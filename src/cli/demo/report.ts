import { bold, table } from '../output.ts'
import { journalTable } from '../job-text.ts'
import type { Evidence } from './evidence.ts'
import type { Finding } from './check.ts'
import type { JobHistory, KindSummary, Summary } from './summary.ts'

/** All that a demo has to tell at its end. */
export interface Report {
  readonly database: string
  readonly schema: string
  readonly deliveries: number
  readonly isEmbedded: boolean
  readonly summary: Summary
  readonly evidence: Evidence
  readonly findings: readonly Finding[]
  /** Commands that work now. */
  readonly next: readonly string[]
  /** What makes it as it was before. */
  readonly cleanup: string
}

/** The report for programs: one document. */
export function reportDocument(report: Report): object {
  const { database, schema, deliveries, summary, evidence, findings, next, cleanup } = report
  const { repositories, senders } = evidence
  const isRight = findings.every(({ faults }) => faults.length === 0)
  return {
    database,
    schema,
    deliveries,
    addsUp: isRight,
    findings,
    summary,
    repositories,
    senders,
    next,
    cleanup,
  }
}

/** The report for people. */
export function reportText(report: Report): string {
  const { summary, evidence, findings } = report
  return [
    overview(summary),
    '',
    kindTable(summary),
    '',
    title('What the application made of it', 'its own table, one row a repository'),
    repositoryTable(evidence),
    ...(summary.retried === null ? [] : ['', ...retriedText(summary.retried)]),
    ...(summary.gaveUp === null ? [] : ['', ...gaveUpText(summary)]),
    '',
    ...findingLines(findings),
    '',
    title('Look further', report.isEmbedded ? 'the database is kept' : 'the schemas are kept'),
    ...report.next.map((command) => `  ${command}`),
    title('Remove it', ''),
    `  ${report.cleanup}`,
  ].join('\n')
}

const MOST_KINDS = 10
const MOST_REPOSITORIES = 5
const MOST_FAULTS = 5

function overview({ total, durationMs, gaveUp }: Summary): string {
  const retried = total.failures - (gaveUp === null ? 0 : 1)
  return [
    `${total.jobs} jobs ended in ${(durationMs / 1000).toFixed(1)} s, after ${total.runs} runs:`,
    `${retried} failed and were retried, ${gaveUp === null ? 'none' : 'one'} gave up.`,
  ].join(' ')
}

function kindTable({ kinds, total }: Summary): string {
  const [largest, rest] = [kinds.slice(0, MOST_KINDS), kinds.slice(MOST_KINDS)]
  const others = rest.length === 0 ? [] : [otherKinds(rest)]
  const head = ['kind', 'jobs', 'runs', 'failures', 'p50', 'p95']
  return table(head, [...largest.map(kindCells), ...others, kindCells(total)])
}

function kindCells({
  kind,
  jobs,
  runs,
  failures,
  p50,
  p95,
}: KindSummary): readonly (string | number)[] {
  return [kind, jobs, runs, failures, milliseconds(p50), milliseconds(p95)]
}

// Percentiles of several kinds are not the sum of theirs.
function otherKinds(kinds: readonly KindSummary[]): readonly (string | number)[] {
  const sum = (of: (kind: KindSummary) => number): number =>
    kinds.reduce((total, kind) => total + of(kind), 0)
  return [
    `${kinds.length} other kinds`,
    sum(({ jobs }) => jobs),
    sum(({ runs }) => runs),
    sum(({ failures }) => failures),
    '',
    '',
  ]
}

function milliseconds(value: number): string {
  return `${Math.round(value)} ms`
}

function repositoryTable({ repositories }: Evidence): string {
  const head = ['repository', 'deliveries', 'commits', 'comments']
  const largest = repositories.slice(0, MOST_REPOSITORIES)
  const text = table(
    head,
    largest.map((row) => [row.name, row.deliveries, row.commits, row.comments]),
  )
  const rest = repositories.length - largest.length
  return rest > 0 ? `${text}\n… and ${rest} more` : text
}

function retriedText({ job, journal }: JobHistory): readonly string[] {
  return [title(`The journal of ${job.kind} ${job.id}`, 'failed, then done'), journalTable(journal)]
}

function gaveUpText({ gaveUp }: Summary): readonly string[] {
  if (gaveUp?.state !== 'dead') return []
  return [
    title(`The job that gave up: ${gaveUp.kind} ${gaveUp.id}`, ''),
    `  ${gaveUp.error?.message ?? gaveUp.reason}`,
  ]
}

function findingLines(findings: readonly Finding[]): readonly string[] {
  const wrong = findings.filter(({ faults }) => faults.length > 0)
  const head = wrong.length === 0 ? 'It adds up' : 'It does not add up'
  return [
    title(head, 'read from the tables, compared with the payloads'),
    ...findings.flatMap(findingText),
  ]
}

function findingText({ rule, faults }: Finding): readonly string[] {
  const shown = faults.slice(0, MOST_FAULTS).map((fault) => `      ${fault}`)
  const rest = faults.length - shown.length
  return [
    `  ${faults.length === 0 ? '✓' : '✗'} ${rule}`,
    ...shown,
    ...(rest > 0 ? [`      … and ${rest} more`] : []),
  ]
}

function title(text: string, remark: string): string {
  return remark === '' ? bold(text) : `${bold(text)} (${remark})`
}
