import { spawn, spawnSync } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { handOver, serverAccount } from './postgres-binaries.ts'
import { freePort } from './postgres-server.ts'

/** PgBouncer before the server, with Debian's binary; it ends with the test. */
export interface PgBouncer extends AsyncDisposable {
  /** The URL with the pooler in the server's place. */
  readonly url: string
  /** What it logged so far. */
  readonly log: string
}

export interface PgBouncerOptions {
  readonly mode: 'transaction' | 'session'
  /** Beside `postgres`, who must be known by name. */
  readonly roles?: readonly string[] | undefined
  /** Over the defaults, as in `pgbouncer.ini`. */
  readonly settings?: Readonly<Record<string, string>> | undefined
}

/** Where poolers are installed, for who has no such folder in his path. */
const PATHS = `${process.env['PATH'] ?? ''}:/usr/sbin:/usr/local/sbin`

/** Its version, or undefined where it is not installed. */
export function pgBouncerVersion(): readonly [major: number, minor: number] | undefined {
  const { stdout } = spawnSync('pgbouncer', ['--version'], { env: { PATH: PATHS } })
  const [, major, minor] = /PgBouncer (\d+)\.(\d+)/.exec(String(stdout ?? '')) ?? []
  return major === undefined ? undefined : [Number(major), Number(minor)]
}

/** Starts one before the server of this URL. */
export async function startPgBouncer(
  target: string,
  options: PgBouncerOptions,
): Promise<PgBouncer> {
  const server = new URL(target)
  const account = serverAccount()
  const directory = mkdtempSync(join(tmpdir(), 'millrace-pgbouncer-'))
  chmodSync(directory, 0o755)
  handOver(directory, account)
  const port = await freePort()
  writeFileSync(join(directory, 'users'), usersText(['postgres', ...(options.roles ?? [])]))
  writeFileSync(join(directory, 'ini'), iniText({ server, directory, port }, options))
  const pooler = spawn('pgbouncer', [join(directory, 'ini')], {
    ...account,
    env: { PATH: PATHS },
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  let log = ''
  pooler.stderr.setEncoding('utf8').on('data', (text: string) => {
    log += text
  })
  await started(pooler, () => log)

  const url = new URL(target)
  url.port = String(port)
  return {
    url: url.href,
    get log() {
      return log
    },
    async [Symbol.asyncDispose]() {
      const exit = once(pooler, 'exit')
      pooler.kill('SIGKILL')
      await exit
      rmSync(directory, { recursive: true, force: true })
    },
  }
}

interface Place {
  readonly server: URL
  readonly directory: string
  readonly port: number
}

function iniText({ server, directory, port }: Place, { mode, settings }: PgBouncerOptions): string {
  const all = {
    listen_addr: '127.0.0.1',
    listen_port: String(port),
    unix_socket_dir: '',
    auth_type: 'trust',
    auth_file: join(directory, 'users'),
    pool_mode: mode,
    max_client_conn: '200',
    default_pool_size: '20',
    ...settings,
  }
  const lines = Object.entries(all).map(([name, value]) => `${name} = ${value}`)
  const target = `* = host=${server.hostname} port=${server.port}`
  return ['[databases]', target, '[pgbouncer]', ...lines, ''].join('\n')
}

function usersText(roles: readonly string[]): string {
  return roles.map((role) => `"${role.replaceAll('"', '""')}" ""\n`).join('')
}

async function started(pooler: ChildProcess, log: () => string): Promise<void> {
  const gone = new AbortController()
  pooler.once('exit', () => gone.abort())
  pooler.once('error', () => gone.abort())
  while (!log().includes('process up')) {
    if (gone.signal.aborted || pooler.stderr === null) {
      throw new Error(`PgBouncer did not start: ${log()}`)
    }
    await once(pooler.stderr, 'data', { signal: gone.signal }).catch(() => undefined)
  }
}
