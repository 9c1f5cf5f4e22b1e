import postgres from 'postgres'
import { describe, expect, inject, test } from 'vitest'
import { describeStatement, isDescribable } from '../../src/database/describe.ts'
import { EXPECTED_STATEMENTS } from '../../src/database/expected-statements.ts'
import { namespace } from '../../src/database/namespace.ts'
import { definedStatements } from '../../src/database/statement.ts'
import { migrations, NotMigratedError, statements, verify } from '../../src/index.ts'
import type { Disagreement } from '../../src/index.ts'
import { allStatements } from '../support/all-statements.ts'
import { databaseUrl, freshDatabase } from '../support/database.ts'
import { sessionOn } from '../support/migrated.ts'
import { databaseOfFile, setup } from '../support/mill.ts'
import type { Setup } from '../support/mill.ts'
import { startPglite } from '../support/pglite.ts'
import { runSql } from '../support/sql.ts'
import { statementsSource } from '../support/statements-source.ts'

// Before 16 the server tells the parameters of a prepared statement, and not the columns of its result.
const [server] = await runSql(
  databaseUrl(inject('postgresUrl'), 'postgres'),
  'show server_version_num',
)
const tellsColumns = Number(server?.['server_version_num']) >= 160_000

test.runIf(tellsColumns)(
  'G3: the expected types are those of what the migrations make; written anew with -u',
  async () => {
    await using t = await setup()
    await using session = await sessionOn(t.url)
    const lines: [name: string, types: string][] = []
    for (const each of definedStatements().filter(isDescribable)) {
      const described = await describeStatement(session, each, namespace(t.schema))
      if ('error' in described) throw described.error
      const { parameters, columns } = described
      lines.push([each.name, `${parameters.join(', ')} → ${(columns ?? []).join(', ')}`.trim()])
    }
    const path = new URL('../../src/database/expected-statements.ts', import.meta.url).pathname
    await expect(statementsSource(lines)).toMatchFileSnapshot(path)
  },
)

test('G3: the exported list is every statement of src, in the words of the namespace', async () => {
  const listed = statements({ schema: 'work', prefix: 'a_' })
  const names = (await allStatements()).map(({ name }) => name)
  expect(new Set(listed.map(({ name }) => name))).toEqual(new Set(names))
  const claim = listed.find(({ name }) => name === 'claim_jobs')
  expect(claim?.text).toContain('from "work"."a_ready" r')
  expect(claim?.parameters).toContain('probes')
  expect(claim?.text).not.toMatch(/\$[a-z]/)
})

describe('G3: verify', () => {
  test('finds nothing in a database that is as the migrations made it, and leaves it so', async () => {
    await using t = await setup()
    const { described, disagreements } = await verify(t.url, { schema: t.schema })
    expect(disagreements).toEqual([])
    expect(described).toBe(Object.keys(EXPECTED_STATEMENTS).length)
    expect(described).toBeGreaterThan(50)
    expect((await t.sql.query('select 1 from jobs')).rows).toEqual([])
  })

  test('finds every statement that a renamed column breaks, with its place in the text', async () => {
    await using t = await setup()
    await t.sql.query('alter table ready rename column failures to faults')

    const found = await disagreementsOf(t)

    const broken = found.filter(({ statement }) => statement !== null)
    expect(broken.map(({ statement }) => statement)).toEqual(
      expect.arrayContaining(['claim_jobs', 'enqueue_jobs', 'settle_runs', 'get_job']),
    )
    const claim = broken.find(({ statement }) => statement === 'claim_jobs')
    expect(claim?.what).toBe('column "failures" does not exist (SQLSTATE 42703)')
    expect(textAt(t, claim)).toMatch(/^failures\b/)
    expect(found).toContainEqual(
      expect.objectContaining({
        statement: null,
        what: expect.stringContaining('column "ready.failures"'),
        command: expect.stringContaining('add column "failures" integer not null'),
      }),
    )
  })

  test.runIf(tellsColumns)('finds the column of a result whose type was changed', async () => {
    await using t = await setup()
    await t.sql.query('drop view errors, all_jobs, timeline')
    await t.sql.query('alter table leases alter column run type bigint')

    const found = await disagreementsOf(t)

    expect(found).toContainEqual({
      statement: 'held_leases',
      line: null,
      column: null,
      what: 'column 2 is bigint, the code expects integer',
      command: null,
    })
  })

  test('finds an index that was dropped, with the command that makes it again', async () => {
    await using t = await setup()
    await t.sql.query('drop index ready_claim')
    expect(await disagreementsOf(t)).toEqual([
      {
        statement: null,
        line: null,
        column: null,
        what: expect.stringContaining('index "ready_claim"'),
        command: expect.stringContaining('create index "ready_claim"'),
      },
    ])
  })

  test('G4: every statement is as good where a prefix stands before the names', async () => {
    await using database = await freshDatabase()
    const place = { schema: 'Ugly "s"', prefix: "it's " }
    await using tables = migrations(database.url, place)
    await tables.up()
    const { described, disagreements } = await verify(database.url, place)
    expect(disagreements).toEqual([])
    expect(described).toBeGreaterThan(100)
  })

  test('refuses a database without tables, and options that there are not', async () => {
    await using empty = await freshDatabase()
    await expect(verify(empty.url)).rejects.toThrow(NotMigratedError)
    const wrong: object = { shema: 'work' }
    await expect(verify(await databaseOfFile(), wrong)).rejects.toThrow('Did you mean schema?')
    expect(() => statements(wrong)).toThrow('Did you mean schema?')
  })

  test('asks an embedded database in the same way', { timeout: 60_000 }, async () => {
    const database = await startPglite()
    await expect(verify(database)).rejects.toThrow(NotMigratedError)
    await using tables = migrations(database)
    await tables.up()
    expect((await verify(database)).disagreements).toEqual([])
    await database.exec('alter table millrace.workers rename column busy to active')
    const { disagreements } = await verify(database)
    const told = disagreements.find(({ statement }) => statement === 'tell_worker')
    expect(told).toMatchObject({ line: expect.any(Number), column: expect.any(Number) })
    await database.close()
  })

  test('asks through postgres.js in the same way', async () => {
    await using t = await setup()
    await t.sql.query('alter table workers rename column busy to active')
    const sql = postgres(t.url, { max: 1, onnotice: () => {} })
    const { disagreements } = await verify(sql, { schema: t.schema })
    await sql.end()
    expect(disagreements).toEqual(await disagreementsOf(t))
    const told = disagreements.find(({ statement }) => statement === 'tell_worker')
    expect(textAt(t, told)).toMatch(/^busy\b/)
  })
})

async function disagreementsOf(t: Setup): Promise<readonly Disagreement[]> {
  return (await verify(t.url, { schema: t.schema })).disagreements
}

/** The statement's text from where it is said to be wrong. */
function textAt(t: Setup, found: Disagreement | undefined): string | undefined {
  const text = statements({ schema: t.schema }).find(({ name }) => name === found?.statement)?.text
  const line = text?.split('\n')[(found?.line ?? 0) - 1]
  return line?.slice((found?.column ?? 0) - 1)
}
