import { instantText } from '../core/instant-text.ts'
import { checkName } from '../core/names.ts'
import type { Executor, Runner } from '../database/executor.ts'
import { DatabaseError, InvalidOptionError } from '../errors.ts'
import type { Ask } from '../jobs/ask.ts'
import type { JobKind } from '../jobs/kind.ts'
import type { EnqueueOptions } from '../jobs/options.ts'
import { noInstant, readScheduleOptions } from './options.ts'
import type { ScheduleSettings } from './options.ts'
import { getSchedule, registerSchedule } from './statements.ts'
import type { RegisterParams, ScheduleRow } from './statements.ts'
import { firstBoundary } from './timing.ts'

/** What registering needs of a client. */
export interface Registering {
  readonly executor: Pick<Executor, 'clock'>
  /** Checks an ask as `enqueue` does, and stamps it: whoever fires may not know the kind. */
  readonly prepareAsk: (
    kind: JobKind,
    input: unknown,
    options: EnqueueOptions,
  ) => Ask | Promise<Ask>
  readonly runner: () => Runner
  readonly announce: boolean
}

/** A schedule checked and encoded, ready to be written. */
export type Registration = Omit<RegisterParams, 'announce' | 'next_fire_at'> & {
  readonly settings: ScheduleSettings
}

/** Checks everything, before any I/O but a look at what the queues say where that is old. */
export async function prepareSchedule(
  name: string,
  options: { readonly kind: JobKind },
  { prepareAsk }: Registering,
): Promise<Registration> {
  const schedule = checkName('schedule', name)
  const settings = readScheduleOptions(options)
  const { timing, input, stamped, catchUp, skipsOverlap } = settings
  const ask = await prepareAsk(options.kind, input, stamped)
  if (ask.expiresAt !== null) throw noInstant(ask.expiresAt)
  return {
    settings,
    schedule,
    kind: ask.kind,
    queue: ask.queue,
    payload: ask.payload,
    options: ask.policyText,
    ...keyedColumns(ask),
    cron: timing.type === 'cron' ? timing.cron : null,
    timezone: timing.type === 'cron' ? timing.timezone : null,
    every_ms: timing.type === 'every' ? timing.everyMs : null,
    expires_after_ms: ask.expiresAfterMs,
    lease_ms: ask.leaseMs,
    priority: ask.priority,
    catch_up: catchUp,
    skips_overlap: skipsOverlap,
  }
}

/** Writes it, and answers the row as it stands then. The same again changes nothing. */
export async function register(
  { settings, ...columns }: Registration,
  { executor, runner, announce }: Registering,
): Promise<ScheduleRow> {
  for (let tries = 0; tries < MOST_TRIES; tries += 1) {
    const next = firstBoundary(settings.timing, executor.clock.now())
    if (next === null) throw neverFires(columns)
    await runner().run(registerSchedule, { ...columns, announce, next_fire_at: instantText(next) })
    const [row] = await runner().run(getSchedule, { schedule: columns.schedule })
    if (row !== undefined) return row
  }
  throw new DatabaseError(
    `schedule ${JSON.stringify(columns.schedule)} was removed each time it was registered. Try again.`,
    { sqlstate: null, statement: registerSchedule.name, retryable: true, outcomeUnknown: false },
  )
}

const MOST_TRIES = 10

function keyedColumns({ keyed }: Ask): Pick<RegisterParams, 'dedup_key' | 'dedup' | 'merge'> {
  if (keyed === null) return { dedup_key: null, dedup: null, merge: null }
  const { key, mode, definition } = keyed
  const { merge } = definition
  return {
    dedup_key: key,
    dedup: JSON.stringify(mode),
    merge: typeof merge === 'string' ? merge : 'function',
  }
}

function neverFires({ cron }: Pick<RegisterParams, 'cron'>): InvalidOptionError {
  return new InvalidOptionError('cron', cron, 'it never fires again. Give one with a later date.')
}
