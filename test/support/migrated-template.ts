import { migrations } from '../../src/migrations.ts'
import { runSql } from './sql.ts'

/**
 * A database whose first schemas are migrated already, copied for each test file: to copy it takes
 * less than to migrate two schemas, and a file has five or six tests that want one of their own.
 */
export const TEMPLATE = 'migrated_template'

/** How many schemas it has: `t_1`, `t_2`, … More would cost each file more than they save. */
const SCHEMAS = 5

export async function makeTemplate(server: string): Promise<void> {
  await runSql(server, `create database ${TEMPLATE}`)
  const url = new URL(server)
  url.pathname = `/${TEMPLATE}`
  for (let number = 1; number <= SCHEMAS; number += 1) {
    await using tables = migrations(url.href, { schema: schemaOf(number) })
    await tables.up()
  }
}

export function schemaOf(number: number): string {
  return `t_${number}`
}
