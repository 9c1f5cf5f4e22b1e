import { spawn } from 'node:child_process'
import type { ChildProcessWithoutNullStreams } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'

/** What one run of the command left behind. */
export interface CommandResult {
  readonly code: number | null
  readonly out: string
  readonly err: string
}

export interface CommandOptions {
  /** Beside a bare environment: the test's own DATABASE_URL must not reach it. */
  readonly env?: Readonly<Record<string, string>> | undefined
  readonly input?: string | undefined
  readonly cwd?: string | undefined
}

const packageFolder = fileURLToPath(new URL('../../', import.meta.url))
const main = join(packageFolder, 'dist', 'cli', 'main.js')

/** Runs the built command (`npm test` builds first) as a shell would, and waits for its end. */
export async function millrace(
  words: readonly string[],
  options: CommandOptions = {},
): Promise<CommandResult> {
  const child = startMillrace(words, options)
  child.stdin.on('error', () => undefined)
  child.stdin.end(options.input ?? '')
  const ended = new Promise<number | null>((resolve) => child.on('close', resolve))
  const [out, err, code] = await Promise.all([text(child.stdout), text(child.stderr), ended])
  return { code, out, err }
}

/** Starts the built command and answers the process; the test ends it. */
export function startMillrace(
  words: readonly string[],
  { env = {}, cwd = packageFolder }: CommandOptions = {},
): ChildProcessWithoutNullStreams {
  if (!existsSync(main)) throw new Error(`${main} is not there. Run: npm run build`)
  const path = process.env['PATH'] ?? ''
  return spawn(process.execPath, [main, ...words], { cwd, env: { PATH: path, ...env } })
}

export interface ModuleFolder extends AsyncDisposable {
  /** The absolute path of a file that was written. */
  path(name: string): string
}

/** A folder inside the package, so that its modules import `millrace` as an application does. */
export async function moduleFolder(files: Readonly<Record<string, string>>): Promise<ModuleFolder> {
  const build = join(packageFolder, 'build')
  await mkdir(build, { recursive: true })
  const folder = await mkdtemp(join(build, 'test-'))
  for (const [name, source] of Object.entries(files)) await writeFile(join(folder, name), source)
  return {
    path: (name) => join(folder, name),
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true }),
  }
}
