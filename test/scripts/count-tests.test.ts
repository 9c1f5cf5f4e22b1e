import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

const packageFolder = fileURLToPath(new URL('../../', import.meta.url))
const script = join(packageFolder, 'scripts', 'count-tests.mjs')

interface Counts {
  readonly passed: number
  readonly failed?: number
  readonly pending?: number
  readonly success?: boolean
}

test.each<readonly [what: string, reports: readonly Counts[], line: string, code: number]>([
  ['all is well', [{ passed: 3 }, { passed: 4 }], '7 passed, 0 failed\n', 0],
  ['some were skipped', [{ passed: 3, pending: 2 }], '3 passed, 0 failed, 2 skipped\n', 0],
  ['one failed', [{ passed: 3 }, { passed: 4, failed: 1 }], '7 passed, 1 failed\n', 1],
  ['a file broke', [{ passed: 3, success: false }], '3 passed, 1 failed\n', 1],
  ['nothing ran', [], '0 passed, 0 failed\n', 1],
  ['every test was skipped', [{ passed: 0, pending: 2 }], '0 passed, 0 failed, 2 skipped\n', 1],
])('the closing line when %s', (_what, reports, line, code) => {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-counts-'))
  try {
    for (const [index, counts] of reports.entries()) {
      writeFileSync(join(folder, `${index}.json`), JSON.stringify(report(counts)))
    }
    const done = spawnSync(process.execPath, [script, folder], { encoding: 'utf8' })
    expect({ line: done.stdout, code: done.status }).toEqual({ line, code })
  } finally {
    rmSync(folder, { recursive: true })
  }
})

/** As vitest's JSON reporter writes it, the fields that are read. */
function report({ passed, failed = 0, pending = 0, success = failed === 0 }: Counts): object {
  return {
    success,
    numPassedTests: passed,
    numFailedTests: failed,
    numPendingTests: pending,
    numTodoTests: 0,
    testResults: [],
  }
}

const testFile = (name: string): string => join(packageFolder, 'test', name)

test('every failure is told once more before the line', () => {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-counts-'))
  const passed = { status: 'passed', fullName: 'holds', failureMessages: [] }
  const failed = { status: 'failed', fullName: 'E1: is kept', failureMessages: ['gone\n  at x'] }
  const testResults = [
    { name: testFile('a.test.ts'), status: 'passed', message: '', assertionResults: [passed] },
    {
      name: testFile('b.test.ts'),
      status: 'failed',
      message: '',
      assertionResults: [passed, failed],
    },
    {
      name: testFile('c.test.ts'),
      status: 'failed',
      message: 'no such module',
      assertionResults: [],
    },
  ]
  try {
    const written = { ...report({ passed: 2, failed: 1 }), testResults }
    writeFileSync(join(folder, 'run.json'), JSON.stringify(written))
    const done = spawnSync(process.execPath, [script, folder], { encoding: 'utf8' })
    expect(done.stdout.split('\n')).toEqual([
      `FAILED ${join('test', 'b.test.ts')} > E1: is kept`,
      '  gone',
      '    at x',
      '',
      `FAILED ${join('test', 'c.test.ts')}`,
      '  no such module',
      '',
      '2 passed, 1 failed',
      '',
    ])
  } finally {
    rmSync(folder, { recursive: true })
  }
})

test('a step that failed beside the tests is counted', () => {
  const done = spawnSync(process.execPath, [script, 'no-such-folder', '2'], { encoding: 'utf8' })
  expect({ line: done.stdout, code: done.status }).toEqual({
    line: '0 passed, 2 failed\n',
    code: 1,
  })
})
