import type { TestProject } from 'vitest/node'
import { makeTemplate } from './migrated-template.ts'
import { startServer } from './postgres-server.ts'

declare module 'vitest' {
  export interface ProvidedContext {
    /** A running PostgreSQL, database `postgres`, its superuser. */
    postgresUrl: string
  }
}

/**
 * One server for the whole run. `MILLRACE_TEST_NATIVE` names a folder with the `bin` of another
 * version, for the matrix.
 */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const server = await startServer({
    native: process.env['MILLRACE_TEST_NATIVE'],
    settings: { max_connections: '200' },
  })
  await makeTemplate(server.url())
  project.provide('postgresUrl', server.url())
  return () => server.close()
}
