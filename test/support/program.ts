import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { quickPglite } from './pglite.ts'

/** A TypeScript program on the built package, as it stands; only its embedded database starts quicker than it would. */
export async function runProgram(path: string): Promise<{
  readonly code: number | null
  readonly out: string
  readonly errors: string
}> {
  const { words, env } = await quickPglite()
  const done = spawnSync(process.execPath, [...words, 'scripts/run.mjs', path], {
    cwd: fileURLToPath(new URL('../../', import.meta.url)),
    env: { ...process.env, ...env },
    encoding: 'utf8',
    timeout: 110_000,
  })
  return { code: done.status, out: done.stdout, errors: done.stderr }
}
