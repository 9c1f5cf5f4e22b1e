import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { quoted } from '../../src/database/namespace.ts'
import { type Account, handOver, postgresBinaries } from './postgres-binaries.ts'
import { runSql } from './sql.ts'

/** A real PostgreSQL of the test's own. */
export interface TestServer extends AsyncDisposable {
  /** User `postgres`, no password. The database is `postgres` unless another is named. */
  url(database?: string): string
  readonly port: number
  readonly directory: string
  /** The postmaster's. Throws while the server is down. */
  readonly pid: number
  createDatabase(name: string): Promise<string>
  start(): Promise<void>
  stop(mode?: StopMode): Promise<void>
  restart(mode?: StopMode): Promise<void>
  /** SIGKILL to the postmaster: its backends notice and end by themselves. */
  kill(): Promise<void>
  /** Stops the server and removes its directory. */
  close(): Promise<void>
}

/** `fast` ends the sessions and checkpoints; `immediate` is a crash that recovers at the next start. */
export type StopMode = 'fast' | 'immediate'

export interface ServerOptions {
  /** Over these defaults: `fsync=off`, and no socket but the one on 127.0.0.1. */
  readonly settings?: Readonly<Record<string, string>> | undefined
  /** A free one by default. */
  readonly port?: number | undefined
  /** Holds the data directory; kept by `close` when given, else temporary. */
  readonly directory?: string | undefined
  /** A folder with `bin/postgres` and `bin/initdb`, for other versions than the packaged one. */
  readonly native?: string | undefined
}

/** Starts a server that ends with this process, however this process ends. */
export async function startServer(options: ServerOptions = {}): Promise<TestServer> {
  const binaries = postgresBinaries(options.native)
  const directory = options.directory ?? mkdtempSync(join(tmpdir(), 'millrace-server-'))
  mkdirSync(directory, { recursive: true })
  handOver(directory, binaries.account)
  const data = join(directory, 'data')
  // `cp` as the server's account: the copies are then its own.
  if (!existsSync(data)) execFileSync('cp', ['-Rp', binaries.template, data], binaries.account)

  const port = options.port ?? (await freePort())
  const command = [binaries.postgres, '-D', data, '-p', `${port}`, ...settings(options.settings)]
  let running: Running | undefined

  async function start(): Promise<void> {
    running ??= await launch(command, binaries.account, directory)
  }
  async function end(signal: NodeJS.Signals): Promise<void> {
    const ending = running
    running = undefined
    if (ending !== undefined) await terminate(ending, signal)
  }
  const stop = (mode: StopMode = 'fast') => end(mode === 'fast' ? 'SIGINT' : 'SIGQUIT')
  async function close(): Promise<void> {
    await stop('fast')
    if (options.directory === undefined) rmSync(directory, { recursive: true, force: true })
  }
  const url = (database = 'postgres') =>
    `postgres://postgres@127.0.0.1:${port}/${encodeURIComponent(database)}`

  await start()
  return {
    url,
    port,
    directory,
    get pid() {
      if (running?.server.pid === undefined) throw new Error('the server is down; start() it')
      return running.server.pid
    },
    async createDatabase(name) {
      await runSql(url(), `create database ${quoted(name)}`)
      return url(name)
    },
    start,
    stop,
    async restart(mode) {
      await stop(mode)
      await start()
    },
    kill: () => end('SIGKILL'),
    close,
    [Symbol.asyncDispose]: close,
  }
}

interface Running {
  readonly server: ChildProcess
  readonly watchdog: ChildProcess
}

function settings(given: Readonly<Record<string, string>> = {}): string[] {
  const all = {
    listen_addresses: '127.0.0.1',
    unix_socket_directories: '',
    fsync: 'off',
    ...given,
  }
  return Object.entries(all).flatMap(([name, value]) => ['-c', `${name}=${value}`])
}

// After a SIGKILL the old backends hold the shared memory for a moment, and the new postmaster
// refuses to start beside them: it is asked again.
async function launch(
  command: readonly string[],
  account: Account,
  directory: string,
): Promise<Running> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      const server = await spawnServer(command, account)
      return { server, watchdog: watch(server, account, directory) }
    } catch (error) {
      if (attempt === 10) throw error
      await new Promise((resolve) => setTimeout(resolve, 200))
    }
  }
}

async function spawnServer(
  [program = '', ...args]: readonly string[],
  account: Account,
): Promise<ChildProcess> {
  const server = spawn(program, args, {
    ...account,
    // Out of the terminal's process group: Ctrl-C ends the tests, and they end the server.
    detached: true,
    cwd: tmpdir(),
    env: { ...process.env, LC_ALL: 'C', TZ: 'UTC' },
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  server.unref()
  await untilReady(server)
  return server
}

function untilReady(server: ChildProcess): Promise<void> {
  return new Promise((resolve, reject) => {
    let log = ''
    server.stderr?.setEncoding('utf8').on('data', (text: string) => {
      log = (log + text).slice(-4_000)
      // A standby accepts those that only read.
      if (/ready to accept (?:read-only )?connections/.test(log)) resolve()
    })
    server.once('error', reject)
    server.once('exit', () => reject(new Error(`PostgreSQL did not start: ${log}`)))
  })
}

// A shell that waits for the end of a pipe which only this process holds open. When this process is
// gone, even by SIGKILL, the pipe ends, and the shell ends the server. A line on the pipe calls it off.
const WATCHDOG = `
if read -r line; then exit 0; fi
kill -QUIT "$1"
for attempt in 1 2 3 4 5 6 7 8 9 10; do kill -0 "$1" || break; sleep 0.2; done
case "$2" in */millrace-server-*) rm -rf "$2";; esac
`

function watch(server: ChildProcess, account: Account, directory: string): ChildProcess {
  const args = ['-c', WATCHDOG, 'sh', String(server.pid), directory]
  const watchdog = spawn('/bin/sh', args, {
    ...account,
    detached: true,
    cwd: tmpdir(),
    stdio: ['pipe', 'ignore', 'ignore'],
  })
  watchdog.unref()
  watchdog.stdin?.on('error', () => {})
  return watchdog
}

async function terminate({ server, watchdog }: Running, signal: NodeJS.Signals): Promise<void> {
  const isGone = server.exitCode !== null || server.signalCode !== null
  if (!isGone) {
    // Nothing else may keep this process alive until the server is gone.
    server.ref()
    const exit = once(server, 'exit')
    if (server.pid !== undefined) process.kill(server.pid, signal)
    await exit
  }
  watchdog.stdin?.end('stopped\n')
}

/** One of the machine's that nobody listens on. */
export async function freePort(): Promise<number> {
  const probe = createServer().listen(0, '127.0.0.1')
  await once(probe, 'listening')
  const address = probe.address()
  probe.close()
  await once(probe, 'close')
  if (address === null || typeof address === 'string') throw new Error('no free port was found')
  return address.port
}
