import { appendFileSync, existsSync, readFileSync } from 'node:fs'
import type { Logger } from 'millrace'

const ignore = (): void => undefined

/** What an operator would be told by the process whose log this is, a line each in a file beside it. */
export function saidLog(log: string): Logger {
  const write =
    (level: string) =>
    (facts: object, message: string): void => {
      appendFileSync(fileOf(log), `${level}: ${message} ${JSON.stringify(facts)}\n`)
    }
  return { error: write('error'), warn: write('warn'), info: ignore, debug: ignore }
}

export function readSaid(log: string): readonly string[] {
  const file = fileOf(log)
  return existsSync(file) ? readFileSync(file, 'utf8').split('\n').slice(0, -1) : []
}

function fileOf(log: string): string {
  return `${log}.said`
}
