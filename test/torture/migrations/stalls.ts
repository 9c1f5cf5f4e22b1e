import { runSql } from '../../support/sql.ts'
import { until } from '../../support/until.ts'

/**
 * Makes each command of a migration last a moment, with whatever it has locked until then: so a
 * process can be killed inside a step, and workers feel the locks as with tables of millions of rows.
 */
export async function stallSteps(url: string, seconds: number): Promise<void> {
  await runSql(
    url,
    `create function public.stall() returns event_trigger language plpgsql
       as 'begin perform pg_sleep(${seconds}); end';
     create event trigger stall on ddl_command_end
       when tag in ('CREATE TABLE', 'ALTER TABLE', 'CREATE INDEX', 'DROP INDEX', 'CREATE FUNCTION', 'CREATE TRIGGER')
       execute function public.stall()`,
  )
}

export async function endStalls(url: string): Promise<void> {
  await runSql(url, 'drop event trigger stall; drop function public.stall()')
}

/** Resolves when the history has come to this version and the step after it is at work. */
export async function untilInside(url: string, version: number): Promise<void> {
  await until(
    async () => {
      const [row] = await runSql(
        url,
        `select exists (
           select from pg_stat_activity
           where datname = current_database() and wait_event = 'PgSleep' and pid <> pg_backend_pid()
         ) as is_inside`,
      )
      return row?.['is_inside'] === true && (await versionOf(url)) === version
    },
    { ms: 60_000, every: 5 },
  )
}

/** The newest migration that is applied. */
export async function versionOf(url: string): Promise<number> {
  const [row] = await runSql(url, 'select max(id) as version from millrace.migrations')
  return Number(row?.['version'])
}
