import postgres from 'postgres'
import { describe } from 'vitest'
import { postgresJsEngine } from '../../src/database/drivers/postgres-js.ts'
import { freshDatabase } from '../support/database.ts'
import { conformance } from './conformance.ts'
import { serverConformance } from './server-conformance.ts'

// The instance itself never connects: an application's transforms and types must not reach ours.
const engineOn = (url: string) =>
  postgresJsEngine(postgres(url, { max: 3, transform: postgres.camel }))

describe('postgres.js', () => {
  conformance(async () => {
    const database = await freshDatabase()
    const engine = engineOn(database.url)
    return { engine, close: () => engine.close().then(database.drop) }
  })
  serverConformance(engineOn)
})
