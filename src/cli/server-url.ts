import { InvalidOptionError } from '../errors.ts'
import { migrations } from '../index.ts'

/**
 * The URL of a server, for commands that do not work in an embedded database; `cure` says what to
 * give. Throws `InvalidOptionError` for anything else, without its password.
 */
export function serverUrl(database: string, cure: string): URL {
  if (/^postgres(?:ql)?:\/\//i.test(database) && URL.canParse(database)) return new URL(database)
  const shown = database.replace(/:[^:@/]*@/, '@')
  throw new InvalidOptionError('--database', shown, cure)
}

/** Asked through Millrace first, so that a server that cannot be reached is told as everywhere. */
export async function demandServer(database: string): Promise<void> {
  await using tables = migrations(database)
  await tables.status()
}
