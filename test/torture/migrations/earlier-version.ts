import { spawnSync } from 'node:child_process'
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  renameSync,
  rmSync,
  symlinkSync,
} from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

/**
 * The package as it was when it knew only the first migrations of today, taken from the history of
 * the repository and built as it was built then. Until there are releases the last commit that knew
 * the first n migrations stands for the release before migration n + 1.
 */
export interface EarlierVersion {
  /** The number of the newest migration that it knows. */
  readonly newest: number
  readonly commit: string
}

/** By migrations, the oldest first; none where the history is not there, as in a shallow clone. */
export function earlierVersions(): readonly EarlierVersion[] {
  const today = migrationsOfToday()
  const found = new Map<number, EarlierVersion>()
  // Newest first, and each folder that the migrations ever were once: the last commit that had it.
  for (const commit of commitsByFolder().values()) {
    const then = migrationsOf(commit)
    const newest = then.length
    const isBeginning = then.every((migration, index) => migration === today[index])
    if (newest < FIRST || newest === today.length || !isBeginning) continue
    if (!found.has(newest)) found.set(newest, { newest, commit })
  }
  return [...found.values()].toSorted((one, other) => one.newest - other.newest)
}

// What there was before had not all of the jobs yet that the torture asks for; and the step after it
// locks two tables that are in use, which no later one does (test/database/migration-locks.test.ts).
const FIRST = 2

/** This version. */
export function thisVersion(): { readonly folder: string; readonly newest: number } {
  return { folder: root, newest: migrationsOfToday().length }
}

/** Says what to do where there is none. */
export const NO_HISTORY =
  'the history of the repository holds no commit from before the newest migration. Run in a whole clone: git fetch --unshallow'

/**
 * The folder of that version, built; kept in `build`, so that it is built once. Beside it lie the
 * programs of the torture as they are today, which there find that version as `millrace`.
 */
export function builtVersion({ newest, commit }: EarlierVersion): string {
  const folder = join(root, 'build', 'earlier', `${newest}-${commit.slice(0, 12)}`)
  if (!existsSync(folder)) build(commit, folder)
  for (const name of ['torture', 'support']) {
    cpSync(join(root, 'test', name), join(folder, 'test', name), { recursive: true })
  }
  return folder
}

const root = fileURLToPath(new URL('../../../', import.meta.url))
const MIGRATIONS = 'src/database/migrations'

// Built beside and put in its place when complete: others may build the same at the same time.
function build(commit: string, folder: string): void {
  const beside = `${folder}-${process.pid}`
  mkdirSync(beside, { recursive: true })
  try {
    const files = ['src', 'scripts', 'package.json', 'tsconfig.json', 'tsconfig.build.json']
    const packed = run('git', ['archive', '--format=tar', commit, ...files])
    run('tar', ['-xf', '-', '-C', beside], { input: packed })
    // What it was built with is named by its lock file; what is installed now is newer, and all of it.
    symlinkSync(join(root, 'node_modules'), join(beside, 'node_modules'))
    run(process.execPath, ['scripts/build.mjs'], { cwd: beside })
    if (!existsSync(folder)) renameSync(beside, folder)
  } finally {
    rmSync(beside, { recursive: true, force: true })
  }
}

/** What the folder of the migrations was, and the newest commit with it, the newest first. */
function commitsByFolder(): ReadonlyMap<string, string> {
  const commits = lines(git(['rev-list', 'HEAD']))
  const paths = commits.map((commit) => `${commit}:${MIGRATIONS}\n`).join('')
  const folders = lines(git(['cat-file', '--batch-check'], paths))
  const newest = new Map<string, string>()
  for (const [index, commit] of commits.entries()) {
    const folder = folders[index] ?? ''
    if (folder.includes(' tree ') && !newest.has(folder)) newest.set(folder, commit)
  }
  return newest
}

/** The migrations of a commit, each its hash and its name, in order. */
function migrationsOf(commit: string): readonly string[] {
  const files = lines(git(['ls-tree', commit, `${MIGRATIONS}/`]))
  return files.flatMap((file) => FILE.exec(file)?.slice(1).join(' ') ?? [])
}

/** The same of the files as they lie here, committed or not. */
function migrationsOfToday(): readonly string[] {
  const files = readdirSync(join(root, MIGRATIONS))
  const names = files.filter((name) => MIGRATION.test(name)).toSorted()
  const hashes = lines(git(['hash-object', ...names.map((name) => `${MIGRATIONS}/${name}`)]))
  return names.map((name, index) => `${hashes[index]} ${name}`)
}

const MIGRATION = /^\d{4}-.+\.sql$/
/** As `ls-tree` shows one. */
const FILE = /^\d+ blob (\w+)\t.*\/(\d{4}-[^/]+\.sql)$/

/** Nothing where there is no git, or no repository. */
function git(words: readonly string[], input?: string): string {
  const done = spawnSync('git', words, { cwd: root, encoding: 'utf8', input })
  return done.status === 0 ? done.stdout : ''
}

function run(
  command: string,
  words: readonly string[],
  options: { readonly cwd?: string; readonly input?: Buffer } = {},
): Buffer {
  const done = spawnSync(command, words, { cwd: root, maxBuffer: 1e9, ...options })
  if (done.status === 0) return done.stdout
  throw new Error(
    `${command} ${words.join(' ')} failed: ${String(done.stdout)}${String(done.stderr)}`,
  )
}

function lines(text: string): readonly string[] {
  return text.split('\n').filter((line) => line !== '')
}
