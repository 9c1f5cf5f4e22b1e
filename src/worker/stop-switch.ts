/** Aborts a run's signal; the first reason stays. The signal is made when first asked for: most handlers never look at it. */
export interface StopSwitch {
  readonly abort: (reason: Error) => void
  readonly reason: () => Error | undefined
  readonly signal: () => AbortSignal
}

export function stopSwitch(): StopSwitch {
  let controller: AbortController | undefined
  let reason: Error | undefined
  return {
    abort(why) {
      reason ??= why
      controller?.abort(reason)
    },
    reason: () => reason,
    signal() {
      if (controller === undefined) {
        controller = new AbortController()
        if (reason !== undefined) controller.abort(reason)
      }
      return controller.signal
    },
  }
}
