import { expect, test } from 'vitest'
import { freshDatabase } from '../support/database.ts'
import { live } from './life.ts'
import { serverPlace } from './server-place.ts'

test('a whole life passes on this server', async () => {
  await using database = await freshDatabase()
  await live(serverPlace({ url: database.url, migrate: 'auto' }))
  expect.assertions(0)
})
