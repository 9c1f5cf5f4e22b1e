import { defineHandlers, defineJob } from '../../index.ts'
import type { Handlers, JobKind, Mill } from '../../index.ts'
import type { Application } from './application.ts'
import { placed } from './place.ts'
import type { Place } from './place.ts'
import { READ_TOTALS } from './tables.ts'

/**
 * A schedule that shows how far things are: each second a worker fires it, and its job reads the
 * table of the projection, while that is being written.
 */
export const SCHEDULE = 'running-totals'

const KIND: JobKind<{
  name: 'running-totals'
  input: undefined
  parsed: undefined
  carry: undefined
  result: unknown
}> = defineJob('running-totals', { queue: 'totals', priority: 'high' })

export interface TotalsContext {
  readonly application: Application
  readonly place: Place
  readonly say: (line: string) => void
}

export function totalsHandlers({ application, place, say }: TotalsContext): Handlers<string> {
  const text = placed(READ_TOTALS, place)
  return defineHandlers().handle(KIND, async (_input, run) => {
    const [totals] = await application.query<Totals>(text)
    if (totals === undefined) return
    const line = totalsText(totals)
    run.note(line)
    say(line)
  })
}

export async function startTotals(mill: Mill): Promise<AsyncDisposable> {
  await mill.schedule(SCHEDULE, { every: '1s', kind: KIND, overlap: 'skip', catchUp: 'skip' })
  return {
    // It stays, to be looked at; what works in this database later has no handler for its jobs.
    [Symbol.asyncDispose]: () => mill.schedules.pause(SCHEDULE),
  }
}

interface Totals {
  readonly deliveries: number
  readonly commits: number
  readonly comments: number
}

function totalsText({ deliveries, commits, comments }: Totals): string {
  return `totals so far: ${deliveries} webhooks, ${commits} commits, ${comments} comments`
}
