import { existsSync, openSync, readFileSync, writeSync } from 'node:fs'
import type { About, Fact } from './fact.ts'

/**
 * Facts as lines of JSON in a file of the process that tells them, each written before the process
 * goes on: what was written survives SIGKILL. A line that was being written is no fact.
 */
export type FactLog = (about: About) => void

/** `now` is the machine's wall time: a process whose clock is set wrong on purpose passes one that is right. */
export function factLog(path: string, process: string, now: () => number = Date.now): FactLog {
  const file = openSync(path, 'a')
  return (about) => {
    writeSync(file, `${JSON.stringify({ at: now(), process, ...about })}\n`)
  }
}

/** The door for our own lines: the writer above says what they hold. */
export function readFacts(path: string): readonly Fact[] {
  if (!existsSync(path)) return []
  const lines = readFileSync(path, 'utf8').split('\n').slice(0, -1)
  return lines.map((line): Fact => JSON.parse(line))
}
