/**
 * How what is built on runs (deliveries) reads what was stamped on their job: it is not in their
 * type, since a handler has no business with how options are stored.
 */
export const stamped: unique symbol = Symbol('stamped')

/** A run that has it. */
export interface Stamped {
  /** The options as they are stored; null: all defaults. */
  readonly [stamped]: string | null
}

/** The options that were stamped on the job of a run. */
export function stampedOn(run: object): string | null {
  return isStamped(run) ? run[stamped] : null
}

function isStamped(run: object): run is Stamped {
  return stamped in run
}
