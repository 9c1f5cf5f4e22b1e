import { open } from 'millrace'
import type { Mill } from 'millrace'
import type { TestServer } from '../test/support/postgres-server.ts'
import { runSql } from '../test/support/sql.ts'
import { serverCpuMs } from './server-cpu.ts'

/** A fresh database for one measurement, so that no phase pays for what another left behind. */
export interface Place {
  readonly url: string
  /** What the work cost, from a checkpoint on: the first change of each page after one logs the whole page. */
  measure(work: (mill: Mill) => Promise<void>): Promise<Usage>
}

export interface Usage {
  readonly elapsedMs: number
  /** Processor time of this process, all threads. */
  readonly nodeMs: number
  /** Of the server, all processes; null where it cannot be read. */
  readonly serverMs: number | null
  readonly walBytes: number
  /** Pages logged as a whole, 8 kB each before holes are cut out: part of `walBytes`. */
  readonly wholePages: number
}

let places = 0

export async function atFreshPlace<T>(
  server: TestServer,
  work: (place: Place) => Promise<T>,
): Promise<T> {
  places += 1
  const name = `bench_${places}`
  const url = await server.createDatabase(name)
  try {
    return await work({ url, measure: (measured) => measure(server, url, measured) })
  } finally {
    await runSql(server.url(), `drop database ${name} with (force)`)
  }
}

async function measure(
  server: TestServer,
  url: string,
  work: (mill: Mill) => Promise<void>,
): Promise<Usage> {
  const mill = await open(url, { migrate: 'auto' })
  try {
    await runSql(url, 'checkpoint')
    const pagesBefore = await wholePages(url)
    const before = await read(server, url)
    await work(mill)
    const after = await read(server, url)
    // Sessions count whole pages for themselves and hand the counts in at their end.
    await mill.close()
    return { ...difference(before, after), wholePages: (await wholePages(url)) - pagesBefore }
  } finally {
    await mill.close()
  }
}

interface Reading {
  readonly at: number
  readonly nodeMs: number
  readonly serverMs: number | null
  readonly walBytes: number
}

async function read(server: TestServer, url: string): Promise<Reading> {
  const at = performance.now()
  const { user, system } = process.cpuUsage()
  const serverMs = serverCpuMs(server.pid)
  const [row] = await runSql(url, `select pg_current_wal_insert_lsn() - '0/0' as wal_bytes`)
  return { at, nodeMs: (user + system) / 1_000, serverMs, walBytes: Number(row?.['wal_bytes']) }
}

function difference(before: Reading, after: Reading): Omit<Usage, 'wholePages'> {
  const isCpuKnown = before.serverMs !== null && after.serverMs !== null
  return {
    elapsedMs: after.at - before.at,
    nodeMs: after.nodeMs - before.nodeMs,
    serverMs: isCpuKnown ? after.serverMs - before.serverMs : null,
    walBytes: after.walBytes - before.walBytes,
  }
}

async function wholePages(url: string): Promise<number> {
  const [row] = await runSql(url, 'select wal_fpi::float8 as pages from pg_stat_wal')
  return Number(row?.['pages'])
}
