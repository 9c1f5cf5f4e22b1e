/**
 * Whether a transaction of a run holds the only connection there is (PGlite). Then nobody else can
 * take a job, since taking needs it too, and nobody can renew: renewals count as made (O4).
 */
export interface ConnectionHolds {
  readonly isHeld: boolean
  /** From now on, until the function it answers is called. */
  begin(): () => void
}

export function connectionHolds(isSingleConnection: boolean): ConnectionHolds {
  let open = 0
  return {
    get isHeld() {
      return isSingleConnection && open > 0
    },
    begin() {
      open += 1
      return () => {
        open -= 1
      }
    },
  }
}
