import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'

/** What `worker.mjs` tells. */
export interface Told {
  readonly what: 'ready' | 'statement' | 'notice' | 'began' | 'told' | 'returned'
  readonly worker?: string
  readonly statement?: string
  readonly message?: string
  readonly job?: string
  readonly run?: number
  readonly code?: string
}

/** A worker over the built package in a process of its own; it ends with the test. */
export interface WorkerProcess extends AsyncDisposable {
  /** Its worker's id. */
  readonly id: string
  /** Everything it told so far, in order. */
  readonly told: readonly Told[]
  of(what: Told['what']): readonly Told[]
  signal(signal: NodeJS.Signals): void
}

export interface WorkerProcessOptions {
  readonly url: string
  readonly schema: string
  /** By how much its wall clock is off, in milliseconds. */
  readonly shiftMs?: number
}

const program = (name: string) => fileURLToPath(new URL(`../processes/${name}`, import.meta.url))

export async function workerProcess({
  url,
  schema,
  shiftMs = 0,
}: WorkerProcessOptions): Promise<WorkerProcess> {
  const built = fileURLToPath(new URL('../../dist/index.js', import.meta.url))
  if (!existsSync(built)) throw new Error(`${built} is not there. Run: npm run build`)
  const args = ['--import', program('shifted-clock.mjs'), program('worker.mjs')]
  const child = spawn(process.execPath, [...args, JSON.stringify({ url, schema })], {
    env: { ...process.env, SHIFT_MS: String(shiftMs) },
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  })
  const exit = once(child, 'exit')
  const told: Told[] = []
  const ready = new Promise<string>((resolve, reject) => {
    child.on('message', (message) => {
      if (!isTold(message)) return
      told.push(message)
      if (message.what === 'ready') resolve(message.worker ?? '')
    })
    child.once('exit', () => reject(new Error('the worker ended before it was ready')))
  })
  return {
    id: await ready,
    told,
    of: (what) => told.filter((each) => each.what === what),
    signal: (signal) => void child.kill(signal),
    async [Symbol.asyncDispose]() {
      child.kill('SIGCONT')
      child.kill('SIGKILL')
      await exit
    },
  }
}

function isTold(message: unknown): message is Told {
  return typeof message === 'object' && message !== null && 'what' in message
}
