import { createHash } from 'node:crypto'
import { databaseClock } from '../core/clock.ts'
import type { Clock } from '../core/clock.ts'
import { wait } from '../core/wait.ts'
import { DatabaseError, MigrationError, NotMigratedError } from '../errors.ts'
import { takeSample } from './clock-sample.ts'
import type { Session, TransactionSession } from './database.ts'
import { HISTORY, readCatalogue } from './catalogue.ts'
import { historySql, releasedMigrations } from './migration-files.ts'
import type { Migration } from './migration-files.ts'
import {
  historyProblems,
  lateMigrations,
  pendingMigrations,
  readHistory,
} from './migration-history.ts'
import type { AppliedMigration } from './migration-history.ts'
import { limitMigration, lockMigrations, recordMigration } from './migration-statements.ts'
import { quoted } from './namespace.ts'
import type { Namespace } from './namespace.ts'
import { release } from './release.ts'
import { bind } from './statement.ts'

/**
 * Brings a namespace to the version of this release. Each migration is one transaction that first
 * waits for other starters of the namespace, then looks what is still to be done, does one step and
 * records it. So a run may be killed at any point: its lock goes with its connection, the step is
 * there whole or not at all, and whoever comes next goes on from there. Ten processes that start on
 * an empty database take the steps in turn.
 */
export interface MigrateOptions {
  /** When it was applied, for the history. Default: the database's clock, sampled once. */
  readonly clock?: Clock | undefined
  /** Apply what was passed over as well: migrations older than the newest applied. Default: refuse. */
  readonly late?: boolean | undefined
  /** Default: those of this release. */
  readonly migrations?: readonly Migration[] | undefined
}

export interface Migrated {
  /** The files that this call applied, in order; empty when there was nothing to do. */
  readonly applied: readonly string[]
}

/** For the session: an index on a large table takes its time; whoever waits behind another starter waits as long. */
export const MIGRATION_TIMEOUT = 3_600_000

/** Throws `NotMigratedError` where the history must be understood first, `MigrationError` when a step fails. */
export async function migrateUp(
  session: Session,
  namespace: Namespace,
  options: MigrateOptions = {},
): Promise<Migrated> {
  const released = options.migrations ?? (await releasedMigrations())
  const now = await timeOf(session, namespace, options.clock)
  const context: Context = { namespace, released, now, late: options.late === true }
  const applied: string[] = []
  for (;;) {
    const name = await nextStep(session, context)
    if (name === undefined) return { applied }
    applied.push(name)
  }
}

interface Context {
  readonly namespace: Namespace
  readonly released: readonly Migration[]
  readonly now: string
  readonly late: boolean
}

// A step that waits for a table holds up whoever comes after it: it gives up soon and comes back,
// after a pause that gives others as much time as it took from them. Two minutes in all.
const LOCK_TIMEOUT = '1s'
const PAUSE = 1_000
const ATTEMPTS = 60
const BLOCKED = new Set(['55P03', '40P01'])

async function timeOf(session: Session, namespace: Namespace, clock?: Clock): Promise<string> {
  if (clock !== undefined) return new Date(clock.now()).toISOString()
  const sampled = databaseClock()
  try {
    await takeSample(session, sampled, namespace)
    return new Date(sampled.now()).toISOString()
  } finally {
    sampled.close()
  }
}

async function nextStep(session: Session, context: Context): Promise<string | undefined> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await session.transaction((transaction) => step(transaction, context))
    } catch (error) {
      if (attempt === ATTEMPTS || !isBlocked(error)) throw error
    }
  }
}

async function step(
  transaction: TransactionSession,
  context: Context,
): Promise<string | undefined> {
  const { namespace } = context
  await limitWaits(transaction, namespace, '0')
  await transaction.query(bind(lockMigrations, { key: lockKey(namespace) }, namespace))
  await limitWaits(transaction, namespace, LOCK_TIMEOUT)
  const found = await look(transaction, namespace)
  refuse(context, found.applied)
  const next = nextMigration(context, found.applied)
  if (next === undefined) return undefined
  await transaction.execute('savepoint step')
  try {
    if (!found.hasHistory) await prepare(transaction, namespace, found.hasSchema)
    await apply(transaction, context, next)
  } catch (error) {
    if (isBlocked(error)) await letOthersWork(transaction)
    throw new MigrationError(next.name, reason(error, namespace), { cause: error })
  }
  return next.name
}

// What the step had taken is given back, its turn among starters is not: the next of them would be in
// everybody's way at once. Real time, whatever clock the history is written by.
async function letOthersWork(transaction: TransactionSession): Promise<void> {
  await transaction.execute('rollback to savepoint step')
  const clock = databaseClock()
  await wait(clock, PAUSE)
  clock.close()
}

// A role's own statement_timeout is meant for an application's queries, not for building an index.
async function limitWaits(
  transaction: TransactionSession,
  namespace: Namespace,
  lockTimeout: string,
): Promise<void> {
  await transaction.query(bind(limitMigration, { lock_timeout: lockTimeout }, namespace))
}

// One number for schema and prefix; NUL parts them, neither can hold it.
function lockKey({ schema, prefix }: Namespace): string {
  const digest = createHash('sha256').update(`migrations\0${schema}\0${prefix}`).digest()
  return digest.readBigInt64BE().toString()
}

interface Found {
  readonly hasSchema: boolean
  readonly hasHistory: boolean
  readonly applied: readonly AppliedMigration[]
}

async function look(transaction: TransactionSession, namespace: Namespace): Promise<Found> {
  const { hasSchema, hasHistory } = await readCatalogue(transaction, namespace, [HISTORY])
  const applied = hasHistory ? await readHistory(transaction, namespace) : []
  return { hasSchema, hasHistory, applied }
}

function refuse(context: Context, applied: readonly AppliedMigration[]): void {
  const problems = historyProblems(context.released, applied, context.namespace).filter(
    ({ code }) => code !== 'behind' && !(code === 'late' && context.late),
  )
  if (problems.length > 0) throw new NotMigratedError(context.namespace.schema, problems)
}

function nextMigration(
  { released, late }: Context,
  applied: readonly AppliedMigration[],
): Migration | undefined {
  const passedOver = late ? lateMigrations(released, applied) : []
  return [...passedOver, ...pendingMigrations(released, applied)][0]
}

// Only where it is missing: `create schema if not exists` asks for the right to create one even
// where one exists, and the role that migrates may own no more than the schema.
async function prepare(
  transaction: TransactionSession,
  namespace: Namespace,
  hasSchema: boolean,
): Promise<void> {
  if (!hasSchema) await transaction.execute(namespace.apply('create schema {{schema}}'))
  await transaction.execute(namespace.apply(await historySql()))
}

async function apply(
  transaction: TransactionSession,
  { namespace, now }: Context,
  { id, name, sql, checksum, compatibleFrom }: Migration,
): Promise<void> {
  await transaction.execute(namespace.apply(sql))
  const row = {
    id,
    name,
    checksum,
    compatible_from: compatibleFrom,
    now,
    release: release(),
  }
  await transaction.query(bind(recordMigration, row, namespace))
}

function reason(error: unknown, namespace: Namespace): string {
  const message = error instanceof Error ? error.message : String(error)
  const sqlstate = error instanceof DatabaseError ? error.sqlstate : null
  if (sqlstate !== '42501') return `${message} The database is as it was before it.`
  const owner = `create schema ${quoted(namespace.schema)} authorization the_role`
  return `${message} Or let a superuser run: ${owner}. The database is as it was before it.`
}

function isBlocked(error: unknown): boolean {
  const origin = error instanceof MigrationError ? error.cause : error
  return origin instanceof DatabaseError && BLOCKED.has(origin.sqlstate ?? '')
}
