import { InvalidOptionError } from '../../errors.ts'

/**
 * Connection URLs as text: libraries disagree about what one may hold, and the URL class refuses
 * several hosts (`postgres://a:5432,b:5432/app`), so only the part that is asked for is touched.
 */

/** One URL for each host. Several are for failover: the one that takes writes is looked for. */
export function urlsByHost(url: string): readonly string[] {
  const [, before = '', hosts = '', after = ''] = PARTS.exec(url) ?? []
  if (!hosts.includes(',')) return [url]
  demandWritable(parameterOf(url, 'target_session_attrs'))
  return hosts.split(',').map((host) => before + host + after)
}

/** Refuses what would lead to a server that takes no writes. */
export function demandWritable(attributes: string | undefined): void {
  if (attributes === undefined || WRITABLE.has(attributes)) return
  throw new InvalidOptionError(
    'target_session_attrs',
    attributes,
    'Millrace writes. Take read-write, primary or any, or leave it out.',
  )
}

export function parameterOf(url: string, name: string): string | undefined {
  return parametersOf(url).get(name) ?? undefined
}

/** The URL with these parameters set, and those with `undefined` removed. */
export function withParameters(
  url: string,
  changes: Readonly<Record<string, string | undefined>>,
): string {
  const parameters = parametersOf(url)
  for (const [name, value] of Object.entries(changes)) {
    if (value === undefined) parameters.delete(name)
    else parameters.set(name, value)
  }
  const query = parameters.toString()
  const [base = ''] = url.split('?', 1)
  return query === '' ? base : `${base}?${query}`
}

/**
 * The text without its password, for messages: of a URL, of `user:password@host`, of
 * `host=… password=…`. Rather too much is hidden than too little: what comes here is no URL that could
 * be taken apart, or it would not be in a message.
 */
export function withoutPassword(text: string): string {
  return text
    .replace(/^([a-z][a-z\d+.-]*:\/\/[^:@/]*|[^:@/]*):(?!\/\/).*@/is, '$1:***@')
    .replace(/\b(password\s*=\s*)(?:'[^']*'|[^&#\s]*)/gi, '$1***')
}

// The user part ends at the last @ before the path: passwords hold one more often than they should.
const PARTS = /^([a-z]+:\/\/(?:[^/?#]*@)?)([^/?#]*)(.*)$/is

const WRITABLE: ReadonlySet<string> = new Set(['any', 'read-write', 'primary'])

function parametersOf(url: string): URLSearchParams {
  const mark = url.indexOf('?')
  return new URLSearchParams(mark === -1 ? '' : url.slice(mark + 1))
}
