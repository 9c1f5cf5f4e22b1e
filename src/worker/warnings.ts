import type { Clock } from '../core/clock.ts'
import { notice } from '../core/telemetry.ts'
import type { Origin } from '../core/telemetry.ts'

/**
 * What goes wrong again and again, told without a flood: a database that is away fails four loops of
 * every worker each second. The first of a message is told at once, and from then on one in ten
 * seconds, with how many were left out before it.
 */
export interface Warnings {
  /** A listener for failures that end in this message. */
  of(message: string): (error: unknown) => void
}

export interface WarningsOptions {
  readonly worker: string
  readonly origin: Origin
  readonly clock: Clock
}

const QUIET = 10_000

export function warnings({ worker, origin, clock }: WarningsOptions): Warnings {
  return {
    of(message) {
      let quietUntil = Number.NEGATIVE_INFINITY
      let leftOut = 0
      return (error) => {
        const now = clock.now()
        if (now < quietUntil) {
          leftOut += 1
          return
        }
        const facts = { worker, error: textOf(error), ...(leftOut === 0 ? {} : { leftOut }) }
        quietUntil = now + QUIET
        leftOut = 0
        notice({ origin, level: 'warn', message, facts })
      }
    },
  }
}

function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
