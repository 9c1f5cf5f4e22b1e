import { migration, releasedMigrations } from '../../src/database/migration-files.ts'
import type { Migration } from '../../src/database/migration-files.ts'

/** A migration of a later release: its number, what it does, and since when releases can bear it. */
export function laterMigration(id: number, sql: string, compatibleFrom: number = id): Migration {
  const number = String(id).padStart(4, '0')
  return migration(`${number}-later.sql`, `-- compatible-from: ${compatibleFrom}\n${sql}\n`)
}

/** The migrations of a release that came after this one. */
export async function withLater(...later: readonly Migration[]): Promise<readonly Migration[]> {
  return [...(await releasedMigrations()), ...later]
}

/** The number of the newest migration of this release. */
export async function newestReleased(): Promise<number> {
  return (await releasedMigrations()).length
}
