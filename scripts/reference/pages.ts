import { readdirSync, readFileSync } from 'node:fs'
import { join, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import { PGlite } from '@electric-sql/pglite'
import { pgliteEngine } from '../../src/database/drivers/pglite.ts'
import { migrateUp } from '../../src/database/migrate.ts'
import { namespace } from '../../src/database/namespace.ts'
import { clockChangesPage } from './clock-changes-page.ts'
import { errorsPage } from './errors-page.ts'
import { schemaPage } from './schema-page.ts'
import { specPage } from './spec-page.ts'
import { statementsPage, type StatementModule } from './statements-page.ts'
import { supportPage } from './support-page.ts'
import { testTitles } from './test-titles.ts'

// Those of a domain stand beside it.
const ERRORS = [
  'errors.ts',
  'schedules/schedule-errors.ts',
  'locks/lock-errors.ts',
  'streams/stream-errors.ts',
]

export const referenceFolder: string = fileURLToPath(
  new URL('../../docs/reference/', import.meta.url),
)
const testFolder = fileURLToPath(new URL('../../test/', import.meta.url))
const sourceFolder = fileURLToPath(new URL('../../src/', import.meta.url))

/** The generated pages of the reference, by file name. */
export async function referencePages(): Promise<ReadonlyMap<string, string>> {
  return new Map([
    [
      'errors.md',
      errorsPage(ERRORS.map((file) => read(file)).join('\n'), read('worker/verdict.ts')),
    ],
    ['statements.md', statementsPage(await statementModules())],
    ['schema.md', await migratedSchemaPage()],
    ['clock-changes.md', clockChangesPage()],
    ['support.md', supportPage()],
    ['spec.md', specPage(testTitles(testFolder))],
  ])
}

function read(path: string): string {
  return readFileSync(join(sourceFolder, path), 'utf8')
}

// Only files that define statements are run: others (the command line) act when imported.
const DEFINES_STATEMENTS = /export const \w+: Statement</

async function statementModules(): Promise<readonly StatementModule[]> {
  const paths = readdirSync(sourceFolder, { recursive: true, encoding: 'utf8' })
  const modules = paths
    .filter((path) => path.endsWith('.ts'))
    .toSorted()
    .map((path) => ({ path, source: read(path) }))
    .filter(({ source }) => DEFINES_STATEMENTS.test(source))
  return Promise.all(
    modules.map(async ({ path, source }) => ({
      path: path.split(sep).join('/'),
      source,
      exported: await import(join(sourceFolder, path)),
    })),
  )
}

async function migratedSchemaPage(): Promise<string> {
  const instance = await PGlite.create()
  try {
    await using engine = pgliteEngine({ instance })
    await using session = await engine.connect({ purpose: 'reference', timeoutMs: 60_000 })
    await migrateUp(session, namespace())
    return await schemaPage(async (text) => {
      const { rows } = await instance.query<Readonly<Record<string, unknown>>>(text)
      return rows
    })
  } finally {
    await instance.close()
  }
}
