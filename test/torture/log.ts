import { existsSync, openSync, readFileSync, writeSync } from 'node:fs'
import type { Ask, Execution } from './evidence.ts'

/**
 * What the processes say they did, one line an event, each written before the process goes on: a
 * line that was written survives SIGKILL. Instants are the machine's wall time in milliseconds.
 */
export interface RunLog {
  began(job: string, run: number): void
  told(job: string, run: number): void
  ended(job: string, run: number): void
}

export interface AskLog {
  /** The ask was answered: its job must be there. */
  there(number: number, id: string): void
  /** It was rolled back: there must be no job. */
  absent(number: number): void
  /** It failed: its job may be there or not. */
  unknown(number: number): void
  /** The commit of its transaction failed: its job must be there if the order is. */
  ordered(number: number): void
}

export function runLog(path: string): RunLog {
  const write = writer(path)
  const event =
    (what: string) =>
    (job: string, run: number): void =>
      write([what, job, run, Date.now()])
  return { began: event('began'), told: event('told'), ended: event('ended') }
}

export function askLog(path: string): AskLog {
  const write = writer(path)
  return {
    there: (number, id) => write(['there', number, id]),
    absent: (number) => write(['absent', number, null]),
    unknown: (number) => write(['unknown', number, null]),
    ordered: (number) => write(['ordered', number, null]),
  }
}

export function readRunLog(path: string, worker: string): readonly Execution[] {
  const executions = new Map<string, Execution>()
  const repeated: Execution[] = []
  for (const [what, job, run, at] of linesOf<[string, string, number, number]>(path)) {
    const key = `${job} ${run}`
    const known = executions.get(key)
    if (what !== 'began') {
      if (known !== undefined) executions.set(key, { ...known, [`${what}At`]: at })
      continue
    }
    if (known !== undefined) repeated.push(known)
    executions.set(key, { job, run, worker, beganAt: at, toldAt: null, endedAt: null })
  }
  return [...executions.values(), ...repeated]
}

export function readAskLog(path: string, orders: ReadonlySet<number>): readonly Ask[] {
  const lines = linesOf<[Ask['expected'] | 'ordered', number, string | null]>(path)
  return lines.map(([said, number, id]) => {
    if (said !== 'ordered') return { expected: said, number, id }
    return { expected: orders.has(number) ? 'there' : 'absent', number, id }
  })
}

function writer(path: string): (line: readonly unknown[]) => void {
  const file = openSync(path, 'a')
  return (line) => void writeSync(file, `${JSON.stringify(line)}\n`)
}

/** The door for our own lines: the writers above say what they hold. */
function linesOf<Line>(path: string): readonly Line[] {
  if (!existsSync(path)) return []
  const lines = readFileSync(path, 'utf8').split('\n').slice(0, -1)
  return lines.map((line): Line => JSON.parse(line))
}
