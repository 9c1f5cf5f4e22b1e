import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { until } from './until.ts'

/** What `locker.mjs` tells. */
export interface LockerTold {
  readonly what: 'ready' | 'waiting' | 'held' | 'lost' | 'renewed' | 'released'
  readonly token?: number
  readonly code?: string
  readonly applied?: boolean
}

/** A holder of a lock in a process of its own; it ends with the test. */
export interface LockerProcess extends AsyncDisposable {
  say(word: 'lock' | 'renew' | 'release'): void
  /** The first of what it told of this, once it has. */
  told(what: LockerTold['what']): Promise<LockerTold>
  hasTold(what: LockerTold['what']): boolean
  signal(signal: NodeJS.Signals): void
}

export interface LockerOptions {
  readonly url: string
  readonly schema: string
  readonly name: string
  readonly ttl: number
}

export async function lockerProcess(options: LockerOptions): Promise<LockerProcess> {
  const program = fileURLToPath(new URL('../processes/locker.mjs', import.meta.url))
  const { url, schema, name, ttl } = options
  const child = fork(program, [JSON.stringify({ url, schema, name, ttl })])
  const exit = once(child, 'exit')
  const heard: LockerTold[] = []
  child.on('message', (message) => {
    if (isTold(message)) heard.push(message)
  })
  const first = (what: LockerTold['what']) => heard.find((each) => each.what === what)
  const made: LockerProcess = {
    say: (word) => void child.send(word),
    told: (what) => until(() => first(what), { ms: 60_000 }),
    hasTold: (what) => first(what) !== undefined,
    signal: (signal) => void child.kill(signal),
    async [Symbol.asyncDispose]() {
      child.kill('SIGCONT')
      child.kill('SIGKILL')
      await exit
    },
  }
  await made.told('ready')
  return made
}

function isTold(message: unknown): message is LockerTold {
  return typeof message === 'object' && message !== null && 'what' in message
}
