/** Runs that last until they are let go, and how many there were. */
export interface Gate extends Disposable {
  /** What entered, in order. */
  readonly names: readonly string[]
  /** How many are inside now. */
  readonly now: number
  /** The most that were inside at once. */
  readonly most: number
  /** For handlers: resolves when the gate is open. */
  enter(name: string): Promise<void>
  /**
   * Lets out whoever is inside, and from now on whoever enters, in the next turn of the event loop.
   * Also at the end of the test, so that one that failed does not wait for its runs.
   */
  open(): void
}

export function gate(): Gate {
  const names: string[] = []
  const waiting: (() => void)[] = []
  let isOpen = false
  let now = 0
  let most = 0
  function open(): void {
    isOpen = true
    for (const leave of waiting.splice(0)) leave()
  }
  return {
    names,
    get now() {
      return now
    },
    get most() {
      return most
    },
    async enter(name) {
      names.push(name)
      now += 1
      most = Math.max(most, now)
      await new Promise<void>((resolve) => {
        if (isOpen) setImmediate(resolve)
        else waiting.push(resolve)
      })
      now -= 1
    },
    open,
    [Symbol.dispose]: open,
  }
}
