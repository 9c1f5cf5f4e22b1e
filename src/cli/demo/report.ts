import { bold, table } from '../output.ts'
import { journalTable } from '../job-text.ts'
import { addsUp } from './check.ts'
import type { Finding } from './check.ts'
import type { RepositoryRow, SenderRow } from './evidence.ts'
import { LARGEST } from './summary.ts'
import type { KindSummary, Summary } from './summary.ts'

/** All that a demo has to tell at its end. */
export interface Report {
  readonly database: string
  readonly schema: string
  readonly deliveries: number
  readonly summary: Summary
  readonly repositories: readonly RepositoryRow[]
  readonly senders: readonly SenderRow[]
  readonly stream: StreamFacts
  readonly findings: readonly Finding[]
  /** Commands that work now. */
  readonly next: readonly string[]
  /** The command that leaves no trace. */
  readonly cleanup: string
}

/** How far the stream has come, and its projection behind it. */
export interface StreamFacts {
  readonly stream: string
  readonly head: number
  readonly consumer: string
  readonly lag: number
}

/** For programs: one document. */
export function reportDocument(report: Report): object {
  return { addsUp: addsUp(report.findings), ...report }
}

/** For people: each part begins after an empty line. */
export function reportText(report: Report): string {
  const { summary, findings } = report
  const parts = [
    [overview(summary)],
    ['By kind:', kindTable(summary)],
    ['What the application made of it, by repository:', repositoryTable(report)],
    [streamText(report)],
    retriedText(summary),
    gaveUpText(summary),
    [addsUp(findings) ? 'It adds up:' : 'It does not add up:', ...findings.flatMap(findingLines)],
    ['Look further, everything is still there:', ...report.next.map(indented)],
    ['Remove it:', indented(report.cleanup)],
  ]
  return parts
    .filter((part) => part.length > 0)
    .map(([head = '', ...lines]) => ['', bold(head), ...lines].join('\n'))
    .join('\n')
}

const MOST_REPOSITORIES = 5
const MOST_FAULTS = 5

function overview({ total, durationMs, gaveUp }: Summary): string {
  const retried = total.failures - (gaveUp === null ? 0 : 1)
  const seconds = (durationMs / 1000).toFixed(1)
  return `${total.jobs} jobs ended in ${seconds} s, after ${total.runs} runs: ${retried} failed and were retried, ${gaveUp === null ? 'none' : 'one'} gave up.`
}

function kindTable({ kinds, others, total }: Summary): string {
  const head = ['kind', 'jobs', 'runs', 'failures', 'p50', 'p95']
  const rows = [...kinds.slice(0, LARGEST), ...(others === null ? [] : [others]), total]
  return table(head, rows.map(kindCells))
}

function kindCells({
  kind,
  jobs,
  runs,
  failures,
  p50,
  p95,
}: KindSummary): readonly (string | number)[] {
  return [kind, jobs, runs, failures, `${Math.round(p50)} ms`, `${Math.round(p95)} ms`]
}

function repositoryTable({ repositories }: Report): string {
  const head = ['repository', 'deliveries', 'commits', 'comments']
  const largest = repositories.slice(0, MOST_REPOSITORIES)
  const rows = largest.map((row) => [row.name, row.deliveries, row.commits, row.comments])
  const rest = repositories.length - largest.length
  return rest > 0 ? `${table(head, rows)}\n… and ${rest} more` : table(head, rows)
}

function streamText({ stream: { stream, head, consumer, lag } }: Report): string {
  return `The stream ${stream} has ${head} events; its projection "${consumer}" is ${lag} behind.`
}

function retriedText({ retried }: Summary): readonly string[] {
  if (retried === null) return []
  const { job, journal } = retried
  return [`The journal of a job that was retried, ${job.kind} ${job.id}:`, journalTable(journal)]
}

function gaveUpText({ gaveUp }: Summary): readonly string[] {
  if (gaveUp?.state !== 'dead') return []
  const why = gaveUp.error?.message ?? gaveUp.reason
  return [`The job that gave up, ${gaveUp.kind} ${gaveUp.id}:`, indented(why)]
}

function findingLines({ rule, faults }: Finding): readonly string[] {
  const shown = faults.slice(0, MOST_FAULTS).map((fault) => `      ${fault}`)
  const rest = faults.length - shown.length
  const mark = faults.length === 0 ? '✓' : '✗'
  return [indented(`${mark} ${rule}`), ...shown, ...(rest > 0 ? [`      … and ${rest} more`] : [])]
}

function indented(line: string): string {
  return `  ${line}`
}
