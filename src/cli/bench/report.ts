import { bold, facts, table } from '../output.ts'
import { adviceOf, boundOf, ms } from './bounds.ts'
import { jobsPerSecond, millisecondsEach } from './figures.ts'
import type { Figures } from './figures.ts'

/** All that a bench has to tell. */
export interface Report {
  /** The URL without its password. */
  readonly database: string
  /** Where it was measured; it is gone again. */
  readonly schema: string
  readonly figures: Figures
}

/** For programs: one document. */
export function reportDocument({ database, schema, figures }: Report): object {
  const { phases, ...others } = figures
  return {
    database,
    schema,
    ...others,
    phases: phases.map((phase) => ({
      ...phase,
      jobsPerSecond: jobsPerSecond(phase),
      bound: boundOf(phase, figures),
    })),
    advice: adviceOf(figures),
  }
}

/** For people. */
export function reportText({ database, figures }: Report): string {
  const advice = adviceOf(figures)
  const parts = [
    serverText(database, figures),
    phaseTable(figures),
    latencyText(figures),
    ...(advice.length === 0 ? [] : [[bold('What this suggests:'), ...advice].join('\n  ')]),
    'Handlers here do nothing, and machines are noisy: compare only numbers of one run.',
  ]
  return parts.join('\n\n')
}

function serverText(database: string, { server, roundTripMs, commitMs }: Figures): string {
  return facts([
    ['database', database],
    ['PostgreSQL', server.version],
    ['synchronous_commit', server.synchronousCommit],
    ['round trip', ms(roundTripMs)],
    ['commit', ms(commitMs)],
  ])
}

function phaseTable(figures: Figures): string {
  const rows = figures.phases.map((phase) => [
    phase.title,
    phase.jobs,
    Math.round(jobsPerSecond(phase)),
    ms(millisecondsEach(phase)),
    boundOf(phase, figures),
  ])
  return table(['', 'jobs', 'jobs/s', 'each', 'bounded by'], rows)
}

function latencyText({ latency: { jobs, p50, p99 }, commitMs }: Figures): string {
  return `enqueue to the begin of the handler, ${jobs} jobs, idle worker: p50 ${ms(p50)}, p99 ${ms(p99)}; the commit is ${ms(commitMs)} of it`
}
