import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { open } from 'millrace'
import { startServer } from '../support/postgres-server.ts'
import { live } from './life.ts'
import type { Place } from './place.ts'
import { serverPlace } from './server-place.ts'

/** Lives of the built package in this Node, without a test runner: on a server and embedded. */
async function main(): Promise<void> {
  await using server = await startServer()
  await told('PostgreSQL', serverPlace({ url: server.url(), migrate: 'auto' }))
  const directory = mkdtempSync(join(tmpdir(), 'millrace-place-'))
  try {
    await told('PGlite', inDirectory(join(directory, 'data')))
  } finally {
    rmSync(directory, { recursive: true, force: true })
  }
}

function inDirectory(directory: string): Place {
  return {
    open: () => open(`file:${directory}`, { logger: false }),
    table: (name) => `millrace."${name}"`,
    look: null,
    hears: true,
    transaction: null,
  }
}

async function told(what: string, place: Place): Promise<void> {
  const begun = performance.now()
  await live(place)
  const ms = Math.round(performance.now() - begun)
  process.stdout.write(`node ${process.versions.node}: a whole life on ${what} in ${ms} ms\n`)
}

await main()
