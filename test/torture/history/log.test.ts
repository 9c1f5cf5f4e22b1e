import { appendFileSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { factLog, readFacts } from './log.ts'

let directory: string
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'millrace-facts-'))
})
afterEach(() => rmSync(directory, { recursive: true }))

test('facts come back as they were told, with process and instant', () => {
  const path = join(directory, 'facts')
  const instants = [10, 20]
  const tell = factLog(path, 'A', () => instants.shift() ?? 0)
  tell({ what: 'told', job: 'J1', run: 1 })
  tell({ what: 'due', schedule: 'with "quotes"\nand lines', boundary: 5 })

  expect(readFacts(path)).toEqual([
    { at: 10, process: 'A', what: 'told', job: 'J1', run: 1 },
    { at: 20, process: 'A', what: 'due', schedule: 'with "quotes"\nand lines', boundary: 5 },
  ])
})

test('two logs of one file stand in it line by line', () => {
  const path = join(directory, 'facts')
  const [a, b] = [factLog(path, 'A'), factLog(path, 'B')]
  for (let run = 1; run <= 50; run += 1) {
    a({ what: 'told', job: 'J1', run })
    b({ what: 'told', job: 'J2', run })
  }
  expect(readFacts(path)).toHaveLength(100)
})

test('a line that was cut off by a kill is no fact, and a log that never was is empty', () => {
  const path = join(directory, 'facts')
  factLog(path, 'A')({ what: 'told', job: 'J1', run: 1 })
  appendFileSync(path, '{"at":3,"process":"A","wh')

  expect(readFacts(path)).toHaveLength(1)
  expect(readFacts(join(directory, 'none'))).toEqual([])
})
