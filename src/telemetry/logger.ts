import { noticeChannel } from '../core/telemetry.ts'
import type { Notice, Origin } from '../core/telemetry.ts'

/** The shape of pino's and most others' loggers: facts first, then the message. */
export interface Logger {
  error(facts: object, message: string): void
  warn(facts: object, message: string): void
  info(facts: object, message: string): void
  debug(facts: object, message: string): void
}

/** Sends one client's notices to a logger, until the function it returns is called. */
export function logNotices(origin: Origin, logger: Logger): () => void {
  const listener = (message: unknown): void => {
    if (isNotice(message) && message.origin === origin) tell(logger, message)
  }
  noticeChannel.subscribe(listener)
  return () => {
    noticeChannel.unsubscribe(listener)
  }
}

/** The default: warnings and errors to standard error, one line each. */
export const stderrLogger: Logger = {
  error: (facts, message) => writeLine('error', facts, message),
  warn: (facts, message) => writeLine('warn', facts, message),
  info: () => undefined,
  debug: () => undefined,
}

// Node ends the process when a listener throws, and a logger that fails is no reason for that.
function tell(logger: Logger, { level, facts, message }: Notice): void {
  try {
    logger[level](facts, message)
  } catch {
    // There is nobody left to tell.
  }
}

function writeLine(level: string, facts: object, message: string): void {
  const pairs = Object.entries(facts).map(([name, value]) => `${name}=${JSON.stringify(value)}`)
  process.stderr.write(`${['millrace', `${level}:`, message, ...pairs].join(' ')}\n`)
}

function isNotice(message: unknown): message is Notice {
  return typeof message === 'object' && message !== null && 'origin' in message
}
