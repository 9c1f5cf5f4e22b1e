// Adds up vitest's JSON reports in a folder (build/test-results unless another is named) and prints
// one line that any reader of a log understands: `N passed, N failed`, with `, N skipped` where there
// are any. Exits 1 when a test failed, when a file could not be run, or when there is nothing to count.
// Steps that failed beside the tests may be passed as a number: the line never says 0 failed then.
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { packageFolder } from './tools.mjs'

const folder = process.argv[2] ?? join(packageFolder, 'build', 'test-results')
const reports = existsSync(folder)
  ? readdirSync(folder).map((name) => JSON.parse(readFileSync(join(folder, name), 'utf8')))
  : []

/** @param {string} field */
const sum = (field) => reports.reduce((total, report) => total + report[field], 0)

// A file that breaks before its first test counts no failed test, only a run without success.
const unrun = reports.filter((report) => !report.success && report.numFailedTests === 0).length
const passed = sum('numPassedTests')
const failed = Math.max(sum('numFailedTests') + unrun, Number(process.argv[3] ?? 0))
const skipped = sum('numPendingTests') + sum('numTodoTests')

process.stdout.write(
  `${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}\n`,
)
if (failed > 0 || passed === 0) process.exitCode = 1
