import { InvalidOptionError } from '../errors.ts'

/**
 * The one transaction in which a run may settle itself, as the run and its worker see it (O4). While
 * it is open it locks the lease, so whatever else is decided about the run waits for its end: it is
 * told to roll back, and only a commit that is under way already comes before that.
 */
export class OwnSettlement {
  readonly #onUndone: () => void
  #phase: 'none' | 'open' | 'settled' | 'undone' = 'none'
  // What it needs is made when it is begun: most runs have none.
  #reasonOfEnd: (() => Error) | undefined
  #doom: AbortController | undefined
  #open: Promise<unknown> | undefined
  #ended: Promise<boolean> | undefined

  constructor(onUndone: () => void) {
    this.#onUndone = onUndone
  }

  get phase(): 'none' | 'open' | 'settled' | 'undone' {
    return this.#phase
  }

  /** The run is decided: whatever its handler still says is void. */
  get isOver(): boolean {
    return this.#reasonOfEnd !== undefined
  }

  /** Begins it, once. Not to be awaited by the run itself: `work` may outlive the decision about it. */
  begin<T>(work: (doom: AbortSignal) => Promise<T>): Promise<T> {
    if (this.#phase !== 'none') return Promise.reject(secondCall())
    if (this.#reasonOfEnd !== undefined) return Promise.reject(this.#reasonOfEnd())
    this.#phase = 'open'
    this.#doom = new AbortController()
    const working = work(this.#doom.signal)
    this.#open = working
    // Heard here, so that a handler which does not await it does not end the process.
    this.#ended = working.then(
      () => this.#over('settled'),
      () => this.#over('undone'),
    )
    return working
  }

  /**
   * From now on it does not commit, nor is it begun. Undefined where none is open, else resolves at
   * its end: true when it settled the run after all. The first reason stays.
   */
  end(reason: () => Error): Promise<boolean> | undefined {
    const isFirst = this.#reasonOfEnd === undefined
    this.#reasonOfEnd ??= reason
    if (isFirst && this.#doom !== undefined) this.#doom.abort(reason())
    return this.#phase === 'open' ? this.#ended : undefined
  }

  /** Waits for one that the handler left open; rejects as it did. */
  async leftOpen(): Promise<void> {
    if (this.#phase === 'open') await this.#open
  }

  #over(to: 'settled' | 'undone'): boolean {
    this.#phase = to
    if (to === 'undone') this.#onUndone()
    return to === 'settled'
  }
}

function secondCall(): InvalidOptionError {
  return new InvalidOptionError(
    'transaction',
    'a second call',
    'a run settles once. Write everything in one transaction.',
  )
}
