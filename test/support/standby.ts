import { execFileSync } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { Client } from 'pg'
import { handOver, serverAccount } from './postgres-binaries.ts'
import { freePort, startServer } from './postgres-server.ts'
import type { TestServer } from './postgres-server.ts'
import { runSql } from './sql.ts'
import { until } from './until.ts'

/** A primary and a synchronous standby, under one URL that names both. */
export interface ServerPair extends AsyncDisposable {
  /** The one that takes writes at present. */
  readonly primary: TestServer
  /** Both hosts. */
  url(database: string): string
  /**
   * SIGKILL to all processes of the primary, at once, or SIGSTOP, as a host that is gone without a
   * word; then its standby is promoted. Resolves once the new primary takes writes. There is no standby
   * then: see `rebuild`.
   */
  failOver(signal?: 'SIGKILL' | 'SIGSTOP'): Promise<void>
  /** The old primary becomes the standby, and commits wait for it again. */
  rebuild(): Promise<void>
}

const SETTINGS = { max_connections: '200', wal_keep_size: '256MB', hot_standby: 'on' }

export interface PairOptions {
  /** Default true. Otherwise the standby lags behind when its primary is killed: a tail is lost. */
  readonly isSynchronous?: boolean | undefined
}

export async function startPair({ isSynchronous = true }: PairOptions = {}): Promise<ServerPair> {
  const ports = [await freePort(), await freePort()] as const
  let primary = await startServer({ port: ports[0], settings: SETTINGS })
  let standby: TestServer | undefined
  let left: TestServer | undefined
  const directories: string[] = []

  async function closeLeft(): Promise<void> {
    const old = left
    left = undefined
    if (old === undefined) return
    signalAll(old, 'SIGKILL')
    await old.kill()
    await old.close()
  }

  async function addStandby(port: number): Promise<void> {
    const directory = mkdtempSync(join(tmpdir(), 'millrace-server-'))
    directories.push(directory)
    handOver(directory, serverAccount())
    await copyOf(primary, join(directory, 'data'))
    const primary_conninfo = `host=127.0.0.1 port=${primary.port} user=postgres application_name=standby`
    const settings = { ...SETTINGS, primary_conninfo }
    standby = await startServer({ port, directory, settings })
    await untilStreaming(primary, isSynchronous)
  }

  await addStandby(ports[1])
  return {
    get primary() {
      return primary
    },
    url: (database) =>
      `postgres://postgres@127.0.0.1:${ports[0]},127.0.0.1:${ports[1]}/${encodeURIComponent(database)}`,
    async failOver(signal = 'SIGKILL') {
      const next = standby
      if (next === undefined) throw new Error('there is no standby; rebuild() it first')
      if (!isSynchronous) await lag(next)
      signalAll(primary, signal)
      await runSql(next.url(), 'select pg_promote(true, 30)')
      left = primary
      primary = next
      standby = undefined
    },
    async rebuild() {
      await closeLeft()
      await addStandby(ports.find((port) => port !== primary.port) ?? ports[0])
    },
    async [Symbol.asyncDispose]() {
      await closeLeft()
      await standby?.close()
      await primary.close()
      for (const each of directories) rmSync(each, { recursive: true, force: true })
    },
  }
}

/** A base backup of a running server, without the programs for it, which npm's packages lack. */
async function copyOf(primary: TestServer, target: string): Promise<void> {
  const source = join(primary.directory, 'data')
  const account = serverAccount()
  const client = new Client({ connectionString: primary.url() })
  await client.connect()
  try {
    // Fast: without waiting for a checkpoint that spreads its work.
    await client.query(`select pg_backup_start('standby', true)`)
    execFileSync('/bin/sh', ['-c', COPY, 'sh', source, target], { ...account, cwd: tmpdir() })
    const { rows } = await client.query<{ labelfile: string }>(
      'select * from pg_backup_stop(false)',
    )
    writeFileSync(join(target, 'backup_label'), rows[0]?.labelfile ?? '')
    writeFileSync(join(target, 'standby.signal'), '')
    for (const name of ['backup_label', 'standby.signal']) handOver(join(target, name), account)
  } finally {
    await client.end()
  }
}

// Files that change meanwhile (tar exits with 1 then) are put right by the log, which is streamed.
const COPY = `
mkdir -m 700 "$2" "$2/pg_wal"
(tar -C "$1" --exclude=./pg_wal --exclude=./postmaster.pid --exclude=./postgresql.auto.conf -cf - . || [ $? = 1 ]) |
  tar -C "$2" -xf -
: > "$2/postgresql.auto.conf"
`

/** Where it is synchronous a commit is told of, from then on, when the standby has it. */
async function untilStreaming(primary: TestServer, isSynchronous: boolean): Promise<void> {
  const names = isSynchronous ? 'standby' : ''
  await runSql(primary.url(), `alter system set synchronous_standby_names = '${names}'`)
  await runSql(primary.url(), 'select pg_reload_conf()')
  await until(
    async () => {
      const [row] = await runSql(primary.url(), 'select sync_state from pg_stat_replication')
      return row?.['sync_state'] === (isSynchronous ? 'sync' : 'async')
    },
    { ms: 30_000 },
  )
}

/** Nothing more arrives at the standby, for a while before the end. */
async function lag(standby: TestServer): Promise<void> {
  const [row] = await runSql(standby.url(), 'select pid from pg_stat_wal_receiver')
  const pid = Number(row?.['pid'])
  process.kill(pid, 'SIGSTOP')
  await pause(LAG_MS)
  // The promotion has asked it to end by then: it reads no more of what waits for it.
  setTimeout(() => process.kill(pid, 'SIGCONT'), 3 * LAG_MS)
}

const LAG_MS = 300

/** The postmaster first, so that it starts no new ones; then its backends, whatever they are doing. */
function signalAll(server: TestServer, signal: NodeJS.Signals): void {
  const { pid } = server
  const children = `/proc/${pid}/task/${pid}/children`
  // None where the postmaster has ended already.
  const backends = existsSync(children) ? readFileSync(children, 'utf8').split(' ').map(Number) : []
  for (const each of [pid, ...backends.filter(Boolean)]) {
    try {
      process.kill(each, signal)
    } catch {
      // It ended by itself meanwhile.
    }
  }
}
