import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe } from 'vitest'
import { engineFor } from '../../src/database/connect.ts'
import { conformance } from './conformance.ts'

describe('PGlite in a directory', () => {
  conformance(async () => {
    const parent = mkdtempSync(join(tmpdir(), 'millrace-pglite-'))
    const engine = await engineFor(`file:${join(parent, 'not', 'there', 'yet')}`)
    const remove = () => rmSync(parent, { recursive: true })
    return { engine, close: () => engine.close().then(remove) }
  })
})
