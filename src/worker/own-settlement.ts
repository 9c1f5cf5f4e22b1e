import { InvalidOptionError } from '../errors.ts'

/**
 * The one transaction in which a run may settle itself, as the run and its worker see it (O4). While
 * it is open it locks the lease, so whatever else is decided about the run waits for its end: it is
 * told to roll back, and only a commit that is under way already comes before that.
 */
export interface OwnSettlement {
  readonly phase: 'none' | 'open' | 'settled' | 'undone'
  /** The run is decided: whatever its handler still says is void. */
  readonly isOver: boolean
  /** Begins it, once. Not to be awaited by the run itself: `work` may outlive the decision about it. */
  begin<T>(work: (doom: AbortSignal) => Promise<T>): Promise<T>
  /**
   * From now on it does not commit, nor is it begun. Undefined where none is open, else resolves at
   * its end: true when it settled the run after all. The first reason stays.
   */
  end(reason: () => Error): Promise<boolean> | undefined
  /** Waits for one that the handler left open; rejects as it did. */
  leftOpen(): Promise<void>
}

// What it needs is made when it is begun: most runs have none.
export function ownSettlement(onUndone: () => void): OwnSettlement {
  let phase: OwnSettlement['phase'] = 'none'
  let reasonOfEnd: (() => Error) | undefined
  let doom: AbortController | undefined
  let open: Promise<unknown> | undefined
  let ended: Promise<boolean> | undefined

  function over(to: 'settled' | 'undone'): boolean {
    phase = to
    if (to === 'undone') onUndone()
    return to === 'settled'
  }

  return {
    get phase() {
      return phase
    },
    get isOver() {
      return reasonOfEnd !== undefined
    },
    begin(work) {
      if (phase !== 'none') return Promise.reject(secondCall())
      if (reasonOfEnd !== undefined) return Promise.reject(reasonOfEnd())
      phase = 'open'
      doom = new AbortController()
      const working = work(doom.signal)
      open = working
      // Heard here, so that a handler which does not await it does not end the process.
      ended = working.then(
        () => over('settled'),
        () => over('undone'),
      )
      return working
    },
    end(reason) {
      const isFirst = reasonOfEnd === undefined
      reasonOfEnd ??= reason
      if (isFirst && doom !== undefined) doom.abort(reason())
      return phase === 'open' ? ended : undefined
    },
    async leftOpen() {
      if (phase === 'open') await open
    },
  }
}

function secondCall(): InvalidOptionError {
  return new InvalidOptionError(
    'transaction',
    'a second call',
    'a run settles once. Write everything in one transaction.',
  )
}
