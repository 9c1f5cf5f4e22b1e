import { expect, test } from 'vitest'
import { migrationCommand } from '../../src/database/migration-command.ts'
import { migration, releasedMigrations } from '../../src/database/migration-files.ts'
import type { Migration } from '../../src/database/migration-files.ts'
import { historyProblems } from '../../src/database/migration-history.ts'
import type { AppliedMigration } from '../../src/database/migration-history.ts'
import { namespace } from '../../src/database/namespace.ts'

const files = [1, 2, 3].map((id) => file(id))

function file(id: number, compatibleFrom = 1): Migration {
  return migration(`000${id}-step.sql`, `-- compatible-from: ${compatibleFrom}\nselect ${id}`)
}

function row(migrationOfRow: Migration, changes: Partial<AppliedMigration> = {}): AppliedMigration {
  const { id, name, checksum, compatibleFrom } = migrationOfRow
  return { id, name, checksum, compatibleFrom, appliedAt: 0, release: '0.0.1', ...changes }
}

const all = files.map((each) => row(each))

test.each<readonly [what: string, applied: readonly AppliedMigration[], codes: readonly string[]]>([
  ['all applied', all, []],
  ['none applied', [], ['behind']],
  ['one missing at the end', all.slice(0, 2), ['behind']],
  ['one missing in the middle', all.filter(({ id }) => id !== 2), ['late']],
  ['two missing', all.filter(({ id }) => id === 2), ['late', 'behind']],
  ['another checksum', [...all.slice(0, 2), row(file(3), { checksum: 'x' })], ['edited']],
  ['another name', [...all.slice(0, 2), row(file(3), { name: '0003-x.sql' })], ['edited']],
  ['one more that all can bear', [...all, row(file(4, 3))], []],
  ['one more that only itself can bear', [...all, row(file(4, 4))], ['ahead']],
  ['two more, the first of which refuses', [...all, row(file(4, 4)), row(file(5, 1))], ['ahead']],
  ['an unknown number below the newest', [row(file(1), { id: 0 }), ...all], ['unknown']],
])('G2: a history with %s', (_what, applied, codes) => {
  const problems = historyProblems(files, applied, namespace())

  expect(problems.map(({ code }) => code)).toEqual(codes)
})

test('G2: the cure of an edited file is the release that applied it, of this one a clean install', () => {
  const [edited] = historyProblems(
    files,
    [row(file(1), { checksum: 'x' }), ...all.slice(1)],
    namespace(),
  )
  const exported = row(file(1), { checksum: 'x', release: null })
  const [other] = historyProblems(files, [exported, ...all.slice(1)], namespace())

  expect(edited?.command).toBe('npm install millrace@0.0.1')
  expect(other?.command).toBe('npm ci')
})

test.each([
  [['millrace', ''], 'npx millrace migrate up'],
  [['app', ''], 'npx millrace migrate up --schema app'],
  [['millrace', 'a_'], 'npx millrace migrate up --prefix a_'],
  [['my app', "it's"], `npx millrace migrate up --schema 'my app' --prefix 'it'\\''s'`],
  [['-d', '$(id)'], `npx millrace migrate up --schema=-d --prefix '$(id)'`],
] as const)('a command can be pasted for any namespace: %j', ([schema, prefix], command) => {
  expect(migrationCommand(namespace(schema, prefix), 'up')).toBe(command)
})

test('a checksum is of the text, whatever its line ends', () => {
  const text = '-- compatible-from: 1\nselect 1;\n'

  expect(migration('0001-a.sql', text.replaceAll('\n', '\r\n'))).toEqual(
    migration('0001-a.sql', text),
  )
  expect(migration('0001-a.sql', `${text} `).checksum).not.toBe(
    migration('0001-a.sql', text).checksum,
  )
})

test.each([
  ['1-a.sql', '-- compatible-from: 1\n', 'not like 0001-jobs.sql'],
  ['0001-a.sql', 'select 1', 'does not begin with "-- compatible-from: N"'],
  ['0002-a.sql', '-- compatible-from: 3\n', 'N from 1 to 2'],
  ['0002-a.sql', '-- compatible-from: 0\n', 'N from 1 to 2'],
])('a file that is no migration is refused: %s %j', (name, text, why) => {
  expect(() => migration(name, text)).toThrow(why)
})

test('the released migrations are numbered from 1 without a gap', async () => {
  const released = await releasedMigrations()

  expect(released.map(({ id }) => id)).toEqual(released.map((_each, index) => index + 1))
})
