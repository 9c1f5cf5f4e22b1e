import { startServer } from '../support/postgres-server.ts'
import { scheduleDay } from './schedule-day.ts'
import type { DayOptions, DayReport } from './schedule-day.ts'

/** `npm run torture -- schedules`, on a server of its own. */
export async function schedules(options: DayOptions): Promise<DayReport> {
  const server = await startServer({ settings: { max_connections: '200' } })
  try {
    return await scheduleDay(await server.createDatabase('torture'), options)
  } finally {
    await server.close()
  }
}

/** Counts for people. */
export function dayText(report: DayReport): string {
  const { kills, plain, keyed, fired, merged, violations, tookMs } = report
  return [
    `boundaries      ${plain} of */5 * * * * *, ${keyed} of a schedule with a key`,
    `fired           ${fired} jobs, ${merged} merged asks, each boundary once: ${violations.length === 0 ? 'yes' : 'no'}`,
    `kills           ${kills} processes`,
    `took            ${(tookMs / 1_000).toFixed(1)} s`,
    `violations      ${violations.length}`,
    ...violations.slice(0, 20).map((violation) => `  ${violation}`),
  ].join('\n')
}

/** Nothing missing, nothing doubled. */
export function isExact({ plain, keyed, fired, merged, violations }: DayReport): boolean {
  return violations.length === 0 && fired + merged === plain + keyed
}
