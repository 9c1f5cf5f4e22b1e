import { startServer } from '../../support/postgres-server.ts'
import { earlierVersions, NO_HISTORY, thisVersion } from './earlier-version.ts'
import { fireText, isUnharmed } from './report.ts'
import { isSound, underFire } from './under-fire.ts'
import type { FireOptions } from './under-fire.ts'

/** From each earlier version to this one, each on a database of its own; answers whether all was well. */
export async function migrationsUnderFire(
  options: Omit<FireOptions, 'from' | 'to'>,
  say: (line: string) => void,
): Promise<boolean> {
  const versions = earlierVersions()
  if (versions.length === 0) throw new Error(NO_HISTORY)
  // Durable, as a server is that one migrates.
  const server = await startServer({ settings: { fsync: 'on', max_connections: '200' } })
  try {
    let areUnharmed = true
    for (const from of versions) {
      const url = await server.createDatabase(`from_${from.newest}`)
      if (!(await isSound(url, from))) {
        say(
          `from version    ${from.newest}: commit ${from.commit.slice(0, 12)} refuses its own tables`,
        )
        continue
      }
      const report = await underFire(url, { ...options, from, to: thisVersion() })
      say(fireText(from, report))
      areUnharmed &&= isUnharmed(report)
    }
    return areUnharmed
  } finally {
    await server.close()
  }
}
