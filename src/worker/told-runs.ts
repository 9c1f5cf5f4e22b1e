import type { JobEventName, JobEvents } from '../core/job-events.ts'
import type { Ask } from '../jobs/ask.ts'
import type { ClaimedRow } from './claim-statements.ts'
import type { SettledRow } from './settle-statements.ts'

/** Tells of runs that began. */
export function tellStarted(events: JobEvents, rows: readonly ClaimedRow[], worker: string): void {
  for (const { job_id: id, kind, queue, run } of rows) {
    events.tell('started', { id, kind, queue, run, worker })
  }
}

/** Tells what became of runs, as the database said it once it was committed. */
export function tellSettled(events: JobEvents | undefined, rows: readonly SettledRow[]): void {
  if (events === undefined) return
  for (const { job_id: id, outcome, kind, queue, run, worker } of rows) {
    events.tell(EVENTS[outcome], { id, kind, queue, run, worker })
  }
}

/** Tells of the jobs that settled runs were followed by: those whose run ended as it was said. */
export function tellFollowUps(
  events: JobEvents | undefined,
  settlements: readonly Followed[],
  rows: readonly SettledRow[],
): void {
  const following = settlements.filter(({ followUps = [] }) => followUps.length > 0)
  if (events === undefined || following.length === 0) return
  const said = new Set(rows.map(({ job_id, outcome }) => `${outcome} ${job_id}`))
  for (const { fate, followUps = [] } of following) {
    if (!said.has(`${fate.outcome} ${fate.id}`)) continue
    for (const { id, kind, queue } of followUps) events.tell('created', { id, kind, queue })
  }
}

interface Followed {
  readonly fate: { readonly id: string; readonly outcome: string }
  readonly followUps?: readonly Ask[] | undefined
}

const EVENTS: Readonly<Record<SettledRow['outcome'], JobEventName>> = {
  completed: 'completed',
  paused: 'paused',
  retried: 'retried',
  released: 'released',
  dead: 'dead',
  cancelled: 'cancelled',
  'stale-recovered': 'recovered',
}
