import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { PGlite as Original } from '@electric-sql/pglite'

export * from '@electric-sql/pglite'

export class PGlite extends Original {
  constructor(place, options) {
    const given = typeof place === 'string' ? { ...options, dataDir: place } : { ...place }
    super(isNew(given) ? { ...given, loadDataDir: snapshot() } : given)
  }
}

function isNew({ dataDir, loadDataDir }) {
  if (loadDataDir !== undefined) return false
  return dataDir === undefined || !existsSync(dataDir) || readdirSync(dataDir).length === 0
}

function snapshot() {
  return new Blob([readFileSync(process.env['MILLRACE_TEST_SNAPSHOT'])])
}
