import { openSync, readFileSync, existsSync, writeSync } from 'node:fs'

/**
 * What verbs rejected with, written down beside the facts: nothing of it is wrong by itself while
 * the database is away, and all of it is worth a look.
 */
export type Complain = (where: string, error: unknown) => void

export function complaintLog(log: string): Complain {
  const file = openSync(pathOf(log), 'a')
  return (where, error) => {
    writeSync(file, `${where}: ${wordsOf(error)}\n`)
  }
}

/** How often each was heard, without what differs each time. */
export function complaintCounts(logs: readonly string[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>()
  for (const log of logs) {
    if (!existsSync(pathOf(log))) continue
    for (const line of readFileSync(pathOf(log), 'utf8').split('\n').slice(0, -1)) {
      counts.set(line, (counts.get(line) ?? 0) + 1)
    }
  }
  return counts
}

function pathOf(log: string): string {
  return `${log}.complaints`
}

function wordsOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const code: unknown = Reflect.get(error, 'code')
  const sqlstate: unknown = Reflect.get(error, 'sqlstate')
  const known = [code, sqlstate].filter((each) => typeof each === 'string').join(' ')
  const words = error.message.replaceAll(/\d+/g, '#').replaceAll(/#[0-9A-Z]{8,}/g, '#')
  return `${error.name} ${known} ${words.slice(0, 140)}`
}
