import { summaryText } from '../summary.ts'
import type { EarlierVersion } from './earlier-version.ts'
import type { FireReport } from './under-fire.ts'

/** Nothing lost or doubled, nothing to tell, and every step was struck. */
export function isUnharmed({ said, deadlocks, violations }: FireReport): boolean {
  return said.length === 0 && deadlocks === 0 && violations.length === 0
}

/** Counts for people. */
export function fireText({ newest, commit }: EarlierVersion, report: FireReport): string {
  const { killedInside, atOnce, endedMeanwhile, endedBeside, said, deadlocks } = report
  return [
    `from version    ${newest}, commit ${commit.slice(0, 12)}`,
    `killed inside   the steps ${killedInside.join(', ')}`,
    ...atOnce.map((end) => `then at once    ${end.replaceAll('\n', ', ')}`),
    `ended meanwhile ${endedMeanwhile} jobs, while the steps were at work`,
    `side by side    ${endedBeside.earlier} jobs ended by the earlier version, ${endedBeside.newer} by the newer`,
    `deadlocks       ${deadlocks}`,
    `said            ${said.length} warnings and errors of workers and producers`,
    ...said.slice(0, MOST_SHOWN).map((line) => `  ${line}`),
    summaryText(report.evidence, report.violations),
  ].join('\n')
}

const MOST_SHOWN = 20
