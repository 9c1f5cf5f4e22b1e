// Adds up vitest's JSON reports in a folder (build/test-results unless another is named), tells every
// failure once more, so that the end of a long log says what broke, and prints as the last line what
// any reader understands: `N passed, N failed`, with `, N skipped` where there are any. Exits 1 when a test failed, when a file could not be run, or when there is nothing to count.
// Steps that failed beside the tests may be passed as a number: the line never says 0 failed then.
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { packageFolder } from './tools.mjs'

// Of a failure's text the message and the first frames; a whole diff of thousands of lines helps nobody.
const MOST_LINES = 30

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

for (const failure of reports.flatMap(failuresOf)) process.stdout.write(`${failure}\n\n`)
process.stdout.write(
  `${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}\n`,
)
if (failed > 0 || passed === 0) process.exitCode = 1

/**
 * @param {{ testResults: readonly { name: string, status: string, message: string, assertionResults:
 *   readonly { status: string, fullName: string, failureMessages: readonly string[] }[] }[] }} report
 * @returns {readonly string[]} A file that broke before its tests has only a message of its own.
 */
function failuresOf({ testResults }) {
  return testResults.flatMap(({ name, status, message, assertionResults }) => {
    const file = relative(packageFolder, name)
    const failed = assertionResults.filter((result) => result.status === 'failed')
    if (failed.length === 0) return status === 'failed' ? [told(file, message)] : []
    return failed.map((result) =>
      told(`${file} > ${result.fullName}`, result.failureMessages.join('\n')),
    )
  })
}

/**
 * @param {string} where
 * @param {string} why
 */
function told(where, why) {
  const lines = why.split('\n')
  return [`FAILED ${where}`, ...lines.slice(0, MOST_LINES).map((line) => `  ${line}`)].join('\n')
}
