import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'

/** `millrace migrate up` in a process of its own. */
export interface MigrateProcess {
  /** SIGKILL; resolves when it is gone. */
  kill(): Promise<void>
  /** Its exit code, null when it was killed, and all that it printed. */
  readonly ended: Promise<{ readonly code: number | null; readonly printed: string }>
}

/** The command of the version in that folder. */
export function migrateProcess(folder: string, url: string): MigrateProcess {
  const words = [join(folder, 'dist', 'cli', 'main.js'), 'migrate', 'up', '--database', url]
  const child = spawn(process.execPath, words, { stdio: ['ignore', 'pipe', 'pipe'] })
  const gone = once(child, 'exit')

  async function end(): Promise<{ readonly code: number | null; readonly printed: string }> {
    const [out, err] = await Promise.all([text(child.stdout), text(child.stderr)])
    await gone
    return { code: child.exitCode, printed: out + err }
  }

  return {
    async kill() {
      child.kill('SIGKILL')
      await gone
    },
    ended: end(),
  }
}
