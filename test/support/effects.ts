import type { Setup } from './mill.ts'

/** The application's own table, where a run says that it did its work. */
export interface Effects {
  /** Takes the job's id and the run's number. */
  readonly insert: string
  /** The runs whose effects are committed. */
  runs(): Promise<readonly number[]>
}

export async function effects({ sql, schema }: Setup): Promise<Effects> {
  // Without a unique key: two effects of one job must show.
  await sql.query(`create table ${schema}.effects (job text not null, run int not null)`)
  return {
    insert: `insert into ${schema}.effects (job, run) values ($1, $2)`,
    async runs() {
      const { rows } = await sql.query<{ run: number }>('select run from effects order by run')
      return rows.map(({ run }) => run)
    },
  }
}
