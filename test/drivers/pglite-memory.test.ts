import { describe } from 'vitest'
import { pgliteEngine } from '../../src/database/drivers/pglite.ts'
import { conformance } from './conformance.ts'

describe('PGlite in memory', () => {
  conformance(async () => {
    const engine = pgliteEngine({ memory: true })
    return { engine, close: () => engine.close() }
  })
})
