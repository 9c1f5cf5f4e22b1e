import { describe } from 'vitest'
import { nodePostgresEngine } from '../../src/database/drivers/node-postgres.ts'
import { freshDatabase } from '../support/database.ts'
import { conformance } from './conformance.ts'
import { serverConformance } from './server-conformance.ts'

const engineOn = (url: string) => nodePostgresEngine({ url })

describe('node-postgres', () => {
  conformance(async () => {
    const database = await freshDatabase()
    const engine = engineOn(database.url)
    return { engine, close: () => engine.close().then(database.drop) }
  })
  serverConformance(engineOn)
})
