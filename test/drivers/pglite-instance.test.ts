import { describe } from 'vitest'
import { pgliteEngine } from '../../src/database/drivers/pglite.ts'
import { startPglite } from '../support/pglite.ts'
import { conformance } from './conformance.ts'

describe('a PGlite of the caller', () => {
  conformance(async () => {
    const instance = await startPglite()
    const engine = pgliteEngine({ instance })
    return { engine, close: () => engine.close().then(() => instance.close()) }
  })
})
