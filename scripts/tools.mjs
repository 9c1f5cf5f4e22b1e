// What the scripts share: where the package is, and how they start a program.
import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'

/** The folder that holds package.json. */
export const packageFolder = fileURLToPath(new URL('..', import.meta.url))

/**
 * Runs a program with this one's standard streams and ends this process with its code if it fails.
 *
 * @param {string} command
 * @param {readonly string[]} values
 * @param {{ cwd?: string, env?: NodeJS.ProcessEnv }} [options]
 */
export function run(command, values, options = {}) {
  const code = tryRun(command, values, options)
  if (code !== 0) process.exit(code)
}

/**
 * Runs a program with this one's standard streams and answers its exit code.
 *
 * @param {string} command
 * @param {readonly string[]} values
 * @param {{ cwd?: string, env?: NodeJS.ProcessEnv }} [options]
 * @returns {number}
 */
export function tryRun(command, values, options = {}) {
  const done = spawnSync(command, values, {
    cwd: options.cwd ?? packageFolder,
    env: options.env ?? process.env,
    stdio: 'inherit',
    // npx and npm are command files on Windows, which only a shell can start.
    shell: process.platform === 'win32',
  })
  if (done.error !== undefined) throw done.error
  return done.status ?? 1
}
