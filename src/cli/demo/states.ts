import { setTimeout as sleep } from 'node:timers/promises'
import type { Application } from './application.ts'
import { placed } from './place.ts'
import type { Place } from './place.ts'

/** How many jobs stand where. */
export interface States {
  readonly waiting: number
  readonly retrying: number
  readonly running: number
  readonly completed: number
  readonly dead: number
  /** Deliveries that were processed, and that the projection has not read yet. */
  readonly unread: number
}

export interface Watch {
  readonly application: Application
  readonly place: Place
  /** How many jobs there will be. */
  readonly total: number
  readonly signal: AbortSignal
  readonly onStates: (states: States) => void
}

/**
 * Looks at the jobs until all have ended and the projection has read of them. Gives up, too, when the signal aborts or when nothing has
 * changed for a minute: what is missing then is for the check to say.
 */
export async function watchStates(watch: Watch): Promise<void> {
  let before = ''
  for (let unchanged = 0; unchanged < PATIENCE && !watch.signal.aborted; unchanged += 1) {
    const states = await readStates(watch)
    watch.onStates(states)
    if (isOver(states, watch.total)) return
    const now = JSON.stringify(states)
    if (now !== before) unchanged = 0
    before = now
    await sleep(PAUSE)
  }
}

const PAUSE = 100
const PATIENCE = 600

function isOver({ completed, dead, unread }: States, total: number): boolean {
  return completed + dead >= total && unread <= 0
}

async function readStates({ application, place }: Watch): Promise<States> {
  const [states] = await application.query<States>(placed(COUNT_STATES, place))
  return states ?? NONE
}

const NONE: States = { waiting: 0, retrying: 0, running: 0, completed: 0, dead: 0, unread: 0 }

const COUNT_STATES = `
select
  count(*) filter (where state = 'pending' and detail <> 'retrying')::integer as waiting,
  count(*) filter (where state = 'pending' and detail = 'retrying')::integer as retrying,
  count(*) filter (where state = 'running')::integer as running,
  count(*) filter (where state = 'completed')::integer as completed,
  count(*) filter (where state = 'dead')::integer as dead,
  (select count(*) from {{processed}})::integer
    - (select coalesce(sum(deliveries), 0) from {{totals}})::integer as unread
from {{all_jobs}}
where kind like 'github.%'`
