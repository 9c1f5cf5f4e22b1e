import type { Environment } from './environment.ts'
import type { BenchOptions } from './options.ts'
import type { Usage } from './place.ts'
import type { Round } from './round.ts'

/** One block for people. Where there are several rounds every number is its median. */
export function reportText(
  environment: Environment,
  options: BenchOptions,
  rounds: readonly Round[],
): string {
  const sections = [heading(environment, options), table(figures(rounds)), notes(rounds)]
  return sections
    .filter((lines) => lines.length > 0)
    .map((lines) => lines.join('\n'))
    .join('\n\n')
}

/** A line of the table: what was measured, and its numbers as text. */
type Line = readonly string[]

const COLUMNS: Line = ['', 'jobs/s', 'CPU µs/job node + server', 'WAL B/job', 'whole pages']

function heading(environment: Environment, options: BenchOptions): readonly string[] {
  const { node, postgres, cores, processor, settings } = environment
  const medians = options.rounds === 1 ? '' : `, medians of ${options.rounds} rounds`
  return [
    `millrace bench: ${count(options.jobs)} no-op jobs${medians}`,
    `node ${node}, PostgreSQL ${postgres} over TCP, ${cores} cores shared by client and server (${processor})`,
    Object.entries(settings)
      .map(([name, value]) => `${name}=${value}`)
      .join(' '),
  ]
}

function figures(rounds: readonly Round[]): readonly Line[] {
  const lines: Line[] = []
  const [first] = rounds
  for (const [index, { concurrency, jobs }] of (first?.drains ?? []).entries()) {
    const usages = rounds.flatMap(({ drains }) => drains[index]?.drain ?? [])
    lines.push([`drain, concurrency ${concurrency}`, ...usageCells(usages, jobs)])
  }
  const fills = rounds.flatMap(({ drains }) => drains)
  if (first !== undefined && fills.length > 0) {
    const jobs = first.drains[0]?.jobs ?? 0
    lines.push([
      'enqueueMany',
      ...usageCells(
        fills.map(({ enqueue }) => enqueue),
        jobs,
      ),
    ])
  }
  const enqueues = rounds.flatMap(({ enqueue }) => enqueue ?? [])
  const [enqueue] = enqueues
  if (enqueue !== undefined) {
    const many = enqueues.map(({ inFlight }) => inFlight)
    lines.push([`enqueue, ${enqueue.inFlightCount} in flight`, count(median(many))])
    lines.push(['enqueue, one by one', count(median(enqueues.map(({ oneByOne }) => oneByOne)))])
  }
  return lines
}

function usageCells(usages: readonly Usage[], jobs: number): Line {
  const per = (valueOf: (usage: Usage) => number): number => median(usages.map(valueOf)) / jobs
  const isCpuKnown = usages.every(({ serverMs }) => serverMs !== null)
  const server = isCpuKnown ? micros(per(({ serverMs }) => serverMs ?? 0)) : 'unknown'
  return [
    count(1_000 / per(({ elapsedMs }) => elapsedMs)),
    `${micros(per(({ nodeMs }) => nodeMs))} + ${server}`,
    count(per(({ walBytes }) => walBytes)),
    count(per(({ wholePages }) => wholePages) * jobs),
  ]
}

function notes(rounds: readonly Round[]): readonly string[] {
  const lines: string[] = []
  const latencies = rounds.flatMap(({ latency }) => latency ?? [])
  const [latency] = latencies
  if (latency !== undefined) {
    const p50 = median(latencies.map((each) => each.p50)).toFixed(1)
    const p99 = median(latencies.map((each) => each.p99)).toFixed(1)
    const load = `${latency.jobs} jobs, one each ${latency.everyMs} ms, idle worker`
    lines.push(`enqueue to start: p50 ${p50} ms, p99 ${p99} ms (${load})`)
  }
  const memories = rounds.flatMap(({ memory }) => memory ?? [])
  for (const { early, end } of memories.slice(0, 1)) {
    const rss = `RSS ${megabytes(early.rssBytes)} at ${count(early.jobs)} jobs, ${megabytes(end.rssBytes)} at ${count(end.jobs)}`
    const heap = `heap after collection ${megabytes(early.heapBytes)}, ${megabytes(end.heapBytes)}`
    lines.push(`memory: ${rss}; ${heap}`)
  }
  const drains = rounds.flatMap(({ drains }) => drains)
  if (drains.length > 0) {
    const rss = megabytes(median(drains.map(({ rssBytes }) => rssBytes)))
    lines.push(`RSS after a drain: ${rss}, with the bench's own loader in it`)
    lines.push(
      'each measurement follows a checkpoint; whole pages are logged at their first change after one',
    )
  }
  return lines
}

function table(lines: readonly Line[]): readonly string[] {
  if (lines.length === 0) return []
  const all = [COLUMNS, ...lines]
  const widths = COLUMNS.map((_, column) =>
    Math.max(...all.map((line) => (line[column] ?? '').length)),
  )
  return all.map((line) =>
    line
      .map((cell, column) =>
        column === 0 ? cell.padEnd(widths[0] ?? 0) : cell.padStart(widths[column] ?? 0),
      )
      .join('  ')
      .trimEnd(),
  )
}

/** The middle value; of an even number of them the mean of the two in the middle. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  const middle = sorted.length >> 1
  const upper = sorted[middle] ?? Number.NaN
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? Number.NaN) + upper) / 2
}

// Milliseconds a job as microseconds.
function micros(milliseconds: number): string {
  return (milliseconds * 1_000).toFixed(0)
}

function megabytes(bytes: number): string {
  return `${(bytes / 1e6).toFixed(0)} MB`
}

function count(value: number): string {
  return Math.round(value).toLocaleString('en-US').replaceAll(',', ' ')
}
