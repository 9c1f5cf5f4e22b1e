import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** A program of the torture in a process of its own, over the built package. It ends with this process. */
export interface TortureProcess {
  /** What the program said it is: a worker's id. */
  readonly name: string
  readonly log: string
  /** SIGKILL; resolves when it is gone. */
  kill(): Promise<void>
  /** SIGTERM; resolves when it has ended by itself. */
  terminate(): Promise<void>
  freeze(): void
  thaw(): void
  /** Resolves at its end; rejects when that was by itself and not with code 0. */
  readonly ended: Promise<void>
}

/** What a program is told, as JSON on its command line. */
export interface ProgramSettings {
  readonly url: string
  /** The file that it writes its log to. */
  readonly log: string
}

const ROOT = fileURLToPath(new URL('../../', import.meta.url))
const RUNNER = join(ROOT, 'scripts', 'run.mjs')

/**
 * Starts `worker-process.ts` or `producer-process.ts`; resolves when it says that it is at work.
 * `folder` holds another version of the package with a copy of these programs.
 */
export async function startProcess(
  program: 'worker-process.ts' | 'producer-process.ts',
  settings: ProgramSettings,
  folder: string = ROOT,
): Promise<TortureProcess> {
  const path = join(folder, 'test', 'torture', program)
  const child = spawn(process.execPath, [RUNNER, path, JSON.stringify(settings)], {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  })
  const exit = exitOf(child)
  const name = await nameOf(child)
  let isKilled = false

  async function end(): Promise<void> {
    const code = await exit
    if (code !== 0 && !isKilled) throw new Error(`${program} ${name} ended with ${code}`)
  }

  const ended = end()
  // Whoever waits for it hears of it; until then it is no unhandled rejection.
  ended.catch(() => undefined)

  return {
    name,
    log: settings.log,
    async kill() {
      isKilled = true
      child.kill('SIGKILL')
      await exit
    },
    async terminate() {
      child.kill('SIGTERM')
      await ended
    },
    freeze: () => void child.kill('SIGSTOP'),
    thaw: () => void child.kill('SIGCONT'),
    ended,
  }
}

/** The first message of the child; it is told to nobody when the child ended before. */
async function nameOf(child: ChildProcess): Promise<string> {
  const gone = new AbortController()
  child.once('exit', () => gone.abort(new Error('the process ended before it was at work')))
  const [message] = await once(child, 'message', { signal: gone.signal })
  return String(message)
}

async function exitOf(child: ChildProcess): Promise<number | null> {
  const [code] = await once(child, 'exit')
  return typeof code === 'number' ? code : null
}
