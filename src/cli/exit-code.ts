import { CommanderError } from 'commander'
import { EventsTrimmedError, InvalidEventError, UnknownScheduleError } from '../index.ts'
import {
  DatabaseError,
  InvalidInputError,
  InvalidNameError,
  InvalidOptionError,
  NotMigratedError,
  PayloadTooLargeError,
  UnknownJobError,
  UnknownKindError,
  WaitTimeoutError,
} from '../errors.ts'

/** What the shell is told; `docs/reference/cli.md` lists them. */
export type ExitCode = 0 | 1 | 2 | 3 | 4

export const DONE: ExitCode = 0
/** The answer is no: not ready, not found, not in time, not applied. */
export const NO: ExitCode = 1
/** The command line is wrong: an unknown option, a bad value. */
export const MISUSED: ExitCode = 2
/** No database answered, or it let nobody in. */
export const UNREACHABLE: ExitCode = 3
/** Anything else went wrong. */
export const FAILED: ExitCode = 4

export function exitCodeOf(error: unknown): ExitCode {
  if (error instanceof CommanderError) return error.exitCode === 0 ? DONE : MISUSED
  if (REFUSED.some((each) => error instanceof each)) return NO
  if (MISUSES.some((each) => error instanceof each)) return MISUSED
  if (error instanceof DatabaseError && isUnreachable(error)) return UNREACHABLE
  return FAILED
}

const REFUSED = [
  EventsTrimmedError,
  InvalidEventError,
  NotMigratedError,
  UnknownJobError,
  UnknownScheduleError,
  WaitTimeoutError,
]

const MISUSES = [
  InvalidInputError,
  InvalidNameError,
  InvalidOptionError,
  PayloadTooLargeError,
  UnknownKindError,
]

// No answer at all, or one that refuses the connection: 08 lost, 28 user or password, 3D000 no such
// database, 53300 too many connections, 57P03 starting up.
const REFUSALS = ['08', '28', '3D000', '53300', '57P03']

function isUnreachable({ sqlstate, retryable }: DatabaseError): boolean {
  return sqlstate === null ? retryable : REFUSALS.some((prefix) => sqlstate.startsWith(prefix))
}
