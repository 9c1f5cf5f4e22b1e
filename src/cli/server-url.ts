import { InvalidOptionError } from '../errors.ts'
import { migrations } from '../index.ts'

/**
 * The URL of a server, for commands that do not work in an embedded database; `cure` says what to
 * give. Throws `InvalidOptionError` for anything else, without its password.
 */
export function serverUrl(database: string, cure: string): URL {
  if (/^postgres(?:ql)?:\/\//i.test(database) && URL.canParse(database)) return new URL(database)
  throw new InvalidOptionError('--database', withoutPassword(database), cure)
}

/** The URL for the screen, and whether anything was taken out of it. */
export function shownUrl(given: URL): { readonly href: string; readonly hasSecrets: boolean } {
  const url = new URL(given)
  url.password = ''
  // Deleting one that is not there would spell the others anew.
  for (const name of SECRETS) if (url.searchParams.has(name)) url.searchParams.delete(name)
  return { href: url.href, hasSecrets: url.href !== given.href }
}

// What libpq's URLs may hold beside the password's own place.
const SECRETS = ['password', 'sslpassword']

/** Asked through Millrace first, so that a server that cannot be reached is told as everywhere. */
export async function demandServer(database: string): Promise<void> {
  await using tables = migrations(database)
  await tables.status()
}

// It is no URL, so it cannot be taken apart: all between the first colon and the last @ may be the password.
function withoutPassword(text: string): string {
  return text
    .replace(/^([a-z][a-z\d+.-]*:\/\/[^:@/]*|[^:@/]*):(?!\/\/).*@/is, '$1:***@')
    .replace(/\b(password\s*=\s*)(?:'[^']*'|[^&#\s]*)/gi, '$1***')
}
