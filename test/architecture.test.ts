import { readdirSync, readFileSync } from 'node:fs'
import { join, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { architectureFaults, layerOf, type LayerTable } from './support/architecture.ts'
import { readSource, type SourceFile } from './support/source-file.ts'

/**
 * Imports point downwards only. One row a folder or top file: what it may import besides itself and
 * `errors.ts`, which all may import. Folders are listed before they exist, so that the first file
 * in one finds its rules waiting.
 */
const DOMAINS = [
  'core',
  'database',
  'journal',
  'jobs',
  'queues',
  'schedules',
  'streams',
  'locks',
  'channels',
  'outbox',
  'worker',
  'telemetry',
]
const LAYERS: LayerTable = {
  'errors.ts': { from: [] },
  core: { from: [] },
  database: { from: ['core'] },
  journal: { from: ['core', 'database'] },
  jobs: { from: ['core', 'database', 'journal'] },
  queues: { from: ['core', 'database', 'journal', 'jobs'] },
  schedules: { from: ['core', 'database', 'jobs', 'queues'] },
  streams: { from: ['core', 'database'] },
  locks: { from: ['core', 'database'] },
  channels: { from: ['core', 'database'] },
  outbox: { from: ['core', 'database', 'jobs', 'queues'] },
  worker: {
    from: ['core', 'database', 'journal', 'jobs', 'queues', 'schedules', 'locks', 'outbox'],
  },
  telemetry: { from: ['core'] },
  'migrations.ts': { from: ['core', 'database'] },
  'define.ts': { from: ['core', 'jobs', 'streams', 'outbox'] },
  'open-options.ts': { from: ['core', 'telemetry'] },
  'mill.ts': { from: DOMAINS },
  'producers.ts': { from: DOMAINS },
  'client.ts': { from: [...DOMAINS, 'producers.ts', 'mill.ts', 'open-options.ts'] },
  'open.ts': { from: ['database', 'client.ts', 'mill.ts', 'open-options.ts'] },
  'index.ts': {
    from: [...DOMAINS, 'client.ts', 'mill.ts', 'migrations.ts', 'open.ts', 'open-options.ts'],
  },
  testing: { from: ['index.ts'], typesFrom: ['core'] },
  dashboard: { from: ['index.ts'], typesFrom: ['core'] },
  cli: { from: ['index.ts'], typesFrom: ['core'] },
}

test('the source keeps to the layers, has no cycle, and no file that should not be there', () => {
  const files = sourceFiles()
  expect(files.map((file) => file.path)).toContain('database/database.ts')
  expect(architectureFaults(files, LAYERS)).toEqual([])
})

test('the lint rules, which an editor shows at once, forbid what the table forbids', () => {
  const folders = Object.keys(LAYERS).filter((name) => !name.endsWith('.ts'))
  const drawn = folders.flatMap((folder) =>
    Object.keys(LAYERS)
      .filter((name) => name !== folder && name !== 'errors.ts')
      .filter((name) => isForbiddenByLint(folder, name) === isAllowed(folder, name))
      .map((name) => `${folder} → ${name}`),
  )
  expect(drawn).toEqual([])
})

const LIBRARIES = new Set(['pg', 'postgres', '@electric-sql/pglite'])

test('only the database folder, and the command line as an application would, load a database library', () => {
  const loaders = sourceFiles()
    .filter((file) => file.imports.some((entry) => LIBRARIES.has(entry.specifier)))
    .map((file) => layerOf(file.path))
  expect(loaders.filter((layer) => layer !== 'database' && layer !== 'cli')).toEqual([])
})

test.each<readonly [what: string, path: string, text: string, fault: string]>([
  ['an upward import', 'core/a.ts', "import { b } from '../jobs/b.ts'", 'core may not import jobs'],
  ['an upward type', 'core/a.ts', "import type { B } from '../jobs/b.ts'", 'core may not import'],
  ['an upward re-export', 'jobs/a.ts', "export { b } from '../worker/b.ts'\nlet a", 'jobs may not'],
  ['an upward export *', 'jobs/a.ts', "export * from '../client.ts'\nlet a", 'import client.ts'],
  ['a dynamic import', 'jobs/a.ts', "await import('../worker/b.ts')", 'jobs may not import worker'],
  ['an import in a type', 'core/a.ts', "type B = import('../jobs/b.ts').B", 'core may not import'],
  [
    'a way round by ..',
    'jobs/a.ts',
    "import { b } from '../../src/worker/b.ts'",
    'may not import ..',
  ],
  ['a value where types may', 'cli/a.ts', "import { b } from '../core/b.ts'", 'cli may not import'],
  [
    'the client in the cli',
    'cli/a.ts',
    "import { b } from '../client.ts'",
    'may not import client',
  ],
  [
    'a sibling domain',
    'streams/a.ts',
    "import { b } from '../locks/b.ts'",
    'streams may not import',
  ],
  ['a folder without a row', 'spare/a.ts', 'let a', 'no row for "spare"'],
  ['301 lines', 'core/a.ts', '\n'.repeat(301), '301 lines'],
  ['a folder of anything', 'jobs/helpers/a.ts', 'let a', '"helpers" says nothing'],
  ['a file of anything', 'jobs/utils.ts', 'let a', '"utils" says nothing'],
  ['camel case', 'jobs/oneJob.ts', 'let a', '"oneJob.ts" is not kebab-case'],
  ['a barrel', 'jobs/index.ts', "export { b } from './b.ts'\nexport * from './c.ts'", 're-exports'],
  ['Date.now()', 'jobs/a.ts', 'let a = Date.now()', 'uses Date.now'],
  ['Date.now handed on', 'jobs/a.ts', 'call(Date.now)', 'uses Date.now'],
  ['new Date()', 'jobs/a.ts', 'let a = new Date()', 'uses new Date()'],
  ['new Date', 'jobs/a.ts', 'let a = new Date', 'uses new Date()'],
  ['Date()', 'jobs/a.ts', 'let a = Date()', 'uses Date()'],
  ['Math.random()', 'jobs/a.ts', 'let a = Math.random()', 'uses Math.random'],
  ['performance.now()', 'jobs/a.ts', 'let a = performance.now()', 'uses performance.now'],
  ['console', 'core/clock.ts', "console.log('a')", 'calls console.log'],
])('planted: %s is found', (_what, path, text, fault) => {
  expect(architectureFaults([readSource(path, text)], LAYERS).join('\n')).toContain(fault)
})

test('planted: a circle of three files is found from each of them', () => {
  const files = [
    readSource('jobs/a.ts', "import { b } from './b.ts'"),
    readSource('jobs/b.ts', "import { c } from './c.ts'"),
    readSource('jobs/c.ts', "import { a } from './a.ts'"),
  ]
  expect(architectureFaults(files, LAYERS)).toEqual([
    'cycle: jobs/a.ts → jobs/b.ts → jobs/c.ts → jobs/a.ts',
    'cycle: jobs/b.ts → jobs/c.ts → jobs/a.ts → jobs/b.ts',
    'cycle: jobs/c.ts → jobs/a.ts → jobs/b.ts → jobs/c.ts',
  ])
})

test.each<readonly [what: string, path: string, text: string]>([
  ['an import downwards', 'worker/a.ts', "import { b } from '../jobs/b.ts'"],
  ['errors for all', 'core/a.ts', "import { b } from '../errors.ts'"],
  ['a deep file of its own folder', 'database/drivers/a.ts', "import { b } from '../b.ts'"],
  ['a type of core in the cli', 'cli/a.ts', "import { type B, type C } from '../core/b.ts'"],
  ['the public doors', 'index.ts', "export { b } from './client.ts'"],
  ['exactly 300 lines', 'core/a.ts', '\n'.repeat(300)],
  ['a date of a given number', 'jobs/a.ts', 'let a = new Date(5)'],
  ['the clock itself', 'core/clock.ts', 'let a = Date.now() + performance.now()'],
  [
    'words in strings and comments',
    'core/a.ts',
    '// Date.now()\nlet a = "import \'../jobs/b.ts\'"',
  ],
  ['a package', 'core/a.ts', "import { b } from 'ulid'"],
])('%s is no fault', (_what, path, text) => {
  expect(architectureFaults([readSource(path, text)], LAYERS)).toEqual([])
})

test('two files that import types of each other are no cycle', () => {
  const files = [
    readSource('jobs/a.ts', "import type { B } from './b.ts'"),
    readSource('jobs/b.ts', "import { a } from './a.ts'"),
  ]
  expect(architectureFaults(files, LAYERS)).toEqual([])
})

function sourceFiles(): readonly SourceFile[] {
  const root = fileURLToPath(new URL('../src/', import.meta.url))
  return readdirSync(root, { recursive: true, encoding: 'utf8' })
    .map((path) => path.split(sep).join('/'))
    .filter((path) => path.endsWith('.ts') && !path.startsWith('dashboard/web/'))
    .map((path) => readSource(path, readFileSync(join(root, path), 'utf8')))
}

function isAllowed(folder: string, other: string): boolean {
  const layer = LAYERS[folder]
  return layer?.from.includes(other) === true || layer?.typesFrom?.includes(other) === true
}

function isForbiddenByLint(folder: string, other: string): boolean {
  const specifier = other.endsWith('.ts') ? `../${other}` : `../${other}/any.ts`
  return lintPatterns(folder).some((pattern) => new RegExp(pattern).test(specifier))
}

interface LintConfig {
  readonly overrides: readonly {
    readonly files: readonly string[]
    readonly rules: { readonly 'eslint/no-restricted-imports'?: readonly [string, Restriction] }
  }[]
}

interface Restriction {
  readonly patterns: readonly { readonly regex: string }[]
}

function lintPatterns(folder: string): readonly string[] {
  const path = fileURLToPath(new URL('../.oxlintrc.json', import.meta.url))
  const config: LintConfig = JSON.parse(readFileSync(path, 'utf8'))
  return config.overrides
    .filter((entry) => entry.files.includes(`src/${folder}/**`))
    .flatMap((entry) => entry.rules['eslint/no-restricted-imports']?.[1].patterns ?? [])
    .map((pattern) => pattern.regex)
}
