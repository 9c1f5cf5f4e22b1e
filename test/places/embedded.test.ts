import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { open } from 'millrace'
import type { Database, OpenOptions } from 'millrace'
import { quoted } from '../../src/database/namespace.ts'
import { collect } from '../support/collect.ts'
import { startPglite } from '../support/pglite.ts'
import { inFull } from './extent.ts'
import { live } from './life.ts'
import type { Look, Place } from './place.ts'

function embedded(database: Database, options: OpenOptions = {}, look: Look | null = null): Place {
  const { schema = 'millrace', prefix = '' } = options
  return {
    open: () => open(database, { logger: false, migrate: 'auto', ...options }),
    table: (name) => `${quoted(schema)}.${quoted(prefix + name)}`,
    look,
    hears: true,
    transaction: null,
  }
}

test.each(inFull(['memory:']))(
  'a whole life passes in %s',
  { timeout: 120_000 },
  async (memory) => {
    await live(embedded(memory))
    expect.assertions(0)
  },
)

test(
  'a whole life passes in a directory, and is there when it is opened again',
  { timeout: 120_000 },
  async () => {
    const directory = mkdtempSync(join(tmpdir(), 'millrace-place-'))
    try {
      await live(embedded(`file:${directory}/data`))
      await using mill = await open(`file:${directory}/data`, { logger: false })
      const jobs = await collect(mill.jobs.list({ kind: 'echo', state: 'completed' }))
      expect(jobs.length).toBeGreaterThan(5)
      expect((await mill.streams.list())[0]).toMatchObject({ stream: 'orders', head: 5 })
    } finally {
      rmSync(directory, { recursive: true, force: true })
    }
  },
)

test(
  "a whole life passes in a PGlite of the caller's, in his transactions too, under an ugly name",
  { timeout: 120_000 },
  async () => {
    const instance = await startPglite()
    const names = { schema: 'Say "hé"; --', prefix: "it's " }
    const look: Look = async (text) =>
      (await instance.query<Readonly<Record<string, unknown>>>(text)).rows
    await live({
      ...embedded(instance, names, look),
      transaction: (work) => instance.transaction((tx) => work(tx)),
    })
    await instance.close()
    expect.assertions(0)
  },
)
