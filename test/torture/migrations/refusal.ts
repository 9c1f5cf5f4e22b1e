import { spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/**
 * This version with one more migration, which only releases that know it can work with: what a later
 * release may bring. Its folder is the caller's to remove.
 */
export function withDemandingMigration(root: string, newest: number): string {
  mkdirSync(join(root, 'build'), { recursive: true })
  const folder = mkdtempSync(join(root, 'build', 'later-'))
  for (const name of ['dist', 'package.json']) {
    cpSync(join(root, name), join(folder, name), { recursive: true })
  }
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'))
  const name = `${String(newest + 1).padStart(4, '0')}-demanding.sql`
  const sql = `-- compatible-from: ${newest + 1}\n\ncreate table millrace.demanding (id integer);\n`
  writeFileSync(join(folder, 'dist', 'database', 'migrations', name), sql)
  return folder
}

export function remove(folder: string): void {
  rmSync(folder, { recursive: true, force: true })
}

/** What `open()` of the version in that folder answers: the codes of its error and of each problem, or `opened`. */
export function openedBy(folder: string, url: string): readonly string[] {
  const program = `
    import { open } from ${JSON.stringify(join(folder, 'dist', 'index.js'))}
    const codes = await open(process.argv[1], { logger: false }).then(
      async (mill) => (await mill.close(), ['opened']),
      (error) => [error.code, ...(error.problems ?? []).map(({ code }) => code)],
    )
    process.stdout.write(JSON.stringify(codes))`
  const words = ['--input-type=module', '--eval', program, url]
  const done = spawnSync(process.execPath, words, { encoding: 'utf8' })
  if (done.status !== 0) throw new Error(`it did not answer: ${done.stderr}`)
  const codes: readonly string[] = JSON.parse(done.stdout)
  return codes
}
