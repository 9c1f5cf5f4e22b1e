import { randomUUID } from 'node:crypto'
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PGlite } from '@electric-sql/pglite'

/**
 * A PGlite in memory that is there in half a second. Most of a first start is `initdb`, seconds of
 * it on a busy machine; its result is kept under the temporary directory and loaded from there.
 */
export async function startPglite(): Promise<PGlite> {
  return PGlite.create({ loadDataDir: new Blob([readFileSync(await snapshot())]) })
}

/** For a program in a process of its own: what makes its PGlite start as quickly. */
export interface QuickPglite {
  /** For node, before the program. */
  readonly words: readonly string[]
  readonly env: Readonly<Record<string, string>>
}

export async function quickPglite(): Promise<QuickPglite> {
  const preload = new URL('quick-pglite.mjs', import.meta.url).href
  return { words: ['--import', preload], env: { MILLRACE_TEST_SNAPSHOT: await snapshot() } }
}

/** The file, made where there is none. */
async function snapshot(): Promise<string> {
  const path = snapshotPath()
  if (!existsSync(path)) await writeSnapshot(path)
  return path
}

function snapshotPath(): string {
  const manifest = createRequire(import.meta.url).resolve('@electric-sql/pglite')
  const version = readFileSync(join(manifest, '../../package.json'), 'utf8')
  const [, number = 'unknown'] = /"version": "([^"]+)"/.exec(version) ?? []
  return join(tmpdir(), `millrace-pglite-${number}-${process.getuid?.() ?? 0}.tar`)
}

// Renamed when complete, so that nobody ever loads half of it.
async function writeSnapshot(path: string): Promise<void> {
  const database = await PGlite.create()
  const dump = await database.dumpDataDir('none')
  await database.close()
  const unfinished = `${path}.${randomUUID()}`
  writeFileSync(unfinished, Buffer.from(await dump.arrayBuffer()))
  renameSync(unfinished, path)
}
