import type { Transaction } from '../../src/index.ts'
import type { Setup } from './mill.ts'

/** A table of the application that says which events had their effect. */
export async function projection({ sql, schema }: Setup): Promise<Projection> {
  await sql.query(`create table seen (n bigint generated always as identity, event int, by text)`)
  const insert = `insert into ${schema}.seen (event, by) values ($1, $2)`
  return {
    insert,
    write: async (tx, events, by) => {
      for (const { data } of events) await tx.query(insert, [data.n, by])
    },
    events: async () => {
      const { rows } = await sql.query<{ event: number }>('select event from seen order by n')
      return rows.map(({ event }) => event)
    },
  }
}

export interface Projection {
  readonly insert: string
  readonly write: (
    tx: Transaction,
    events: readonly { data: { n: number } }[],
    by: string,
  ) => Promise<void>
  readonly events: () => Promise<readonly number[]>
}
