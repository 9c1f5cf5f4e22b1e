import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { join, resolve } from 'node:path'
import { InvalidOptionError } from '../../errors.ts'
import { property } from './property.ts'

/**
 * One process at a time in a data directory. The embedded database does not see to that itself:
 * a second process that opens the directory overwrites what the first one writes. A file holds the
 * owner's process id and host; the lock of a process that is gone is taken over, and so is one of
 * another host: a container comes back under another name far more often than two share a volume.
 */
export function lockDirectory(directory: string): () => void {
  const path = join(resolve(directory), 'millrace.lock')
  mkdirSync(resolve(directory), { recursive: true })
  if (!claim(path)) {
    evict(path, directory)
    if (!claim(path)) throw inUse(directory, ownerOf(path))
  }
  held.add(path)
  return () => {
    if (held.delete(path)) rmSync(path, { force: true })
  }
}

const held = new Set<string>()

// `wx` creates the file or fails: of several processes one succeeds.
function claim(path: string): boolean {
  try {
    writeFileSync(path, `${process.pid} ${hostname()}\n`, { flag: 'wx' })
    return true
  } catch (error) {
    if (property(error, 'code') === 'EEXIST') return false
    throw error
  }
}

// Moved aside before it is removed: another process may have evicted the same owner just now, and
// what lies there would be its lock.
function evict(path: string, directory: string): void {
  const owner = ownerOf(path)
  if (isLive(path, owner)) throw inUse(directory, owner)
  const aside = `${path}.${process.pid}`
  try {
    renameSync(path, aside)
  } catch {
    return
  }
  if (readText(aside) === owner) rmSync(aside, { force: true })
  else renameSync(aside, path)
}

function isLive(path: string, owner: string): boolean {
  const [pid = '', host = ''] = owner.trim().split(' ', 2)
  if (host !== hostname()) return owner === ''
  if (Number(pid) === process.pid) return held.has(path)
  try {
    process.kill(Number(pid), 0)
    return true
  } catch (error) {
    return property(error, 'code') === 'EPERM'
  }
}

function ownerOf(path: string): string {
  return readText(path) ?? ''
}

function readText(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return undefined
  }
}

function inUse(directory: string, owner: string): InvalidOptionError {
  const [pid = 'unknown'] = owner.trim().split(' ', 1)
  return new InvalidOptionError(
    'database',
    directory,
    `process ${pid} has this embedded database open, and only one can. ` +
      'Share its client, stop it, or use a PostgreSQL server (DATABASE_URL).',
  )
}
