import type { Logger } from '../../src/telemetry/logger.ts'

/** A logger that keeps the messages of warnings in a list, and nothing else. */
export function warningsInto(list: string[]): Logger {
  return {
    error: nothing,
    info: nothing,
    debug: nothing,
    warn: (_facts, text) => void list.push(text),
  }
}

const nothing = (): undefined => undefined
