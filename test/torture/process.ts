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
  /** Sets its wall clock wrong from now on: by so much, in milliseconds. For those begun with one. */
  shiftClock(ms: number): void
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
const SHIFTED_CLOCK = fileURLToPath(new URL('../processes/shifted-clock.mjs', import.meta.url))

export type Program =
  | 'worker-process.ts'
  | 'producer-process.ts'
  | 'chaos/worker-process.ts'
  | 'chaos/producer-process.ts'

export interface ProgramOptions {
  /** By how much its wall clock is wrong. */
  readonly shiftMs?: number | undefined
  /** Of another version of the package, with a copy of these programs. */
  readonly folder?: string | undefined
}

/** Starts a program; resolves when it says that it is at work. */
export async function startProcess(
  program: Program,
  settings: ProgramSettings,
  { shiftMs, folder = ROOT }: ProgramOptions = {},
): Promise<TortureProcess> {
  const path = join(folder, 'test', 'torture', program)
  const loaded = shiftMs === undefined ? [] : ['--import', SHIFTED_CLOCK]
  const runner = join(ROOT, 'scripts', 'run.mjs')
  const child = spawn(process.execPath, [...loaded, runner, path, JSON.stringify(settings)], {
    env: { ...process.env, SHIFT_MS: String(shiftMs ?? 0) },
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
    // Of no consequence where it is ending.
    shiftClock: (ms) => void child.send({ shiftMs: ms }, () => undefined),
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
