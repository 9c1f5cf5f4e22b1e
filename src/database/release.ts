import { readFileSync } from 'node:fs'

let known: string | undefined

/** The version of this package, as its package.json says: `0.1.0`. */
export function release(): string {
  if (known !== undefined) return known
  // From src/database and from dist/database the package's folder is two up.
  const path = new URL('../../package.json', import.meta.url)
  const manifest: { readonly version: string } = JSON.parse(readFileSync(path, 'utf8'))
  known = manifest.version
  return known
}
