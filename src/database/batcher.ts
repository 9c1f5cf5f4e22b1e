import { setImmediate as nextTurn } from 'node:timers/promises'
import { halving } from './halving.ts'

/**
 * Group commit without delay. While one statement of a kind is in flight the next batch gathers;
 * when nothing is in flight, what was asked in this turn of the event loop leaves at once. A batch
 * that fails for a member's sake is halved until the member stands alone, so that one text that
 * cannot be stored costs only itself.
 */
export interface Batcher<Item, Result> {
  add(item: Item): Promise<Result>
  /** The same for what is answered in its own way: a promise for each of thousands is a burden. */
  put(item: Waiting<Item, Result>): void
  /** Items added and not answered yet. */
  readonly size: number
  /** Resolves when everything added so far is answered. */
  idle(): Promise<void>
}

export interface BatcherOptions<Item, Result> {
  /** One statement for all items; results in the order of the items. */
  readonly flush: (items: readonly Item[]) => Promise<readonly Result[]>
  /** About how many bytes an item adds to the statement. */
  readonly bytes: (item: Item) => number
}

export const MOST_ROWS = 5_000
export const MOST_BYTES = 8_000_000

/** An item and where its answer goes. */
export interface Waiting<Item, Result> {
  readonly item: Item
  resolve(result: Result): void
  reject(error: unknown): void
}

export function batcher<Item, Result>(
  options: BatcherOptions<Item, Result>,
): Batcher<Item, Result> {
  let waiting: Waiting<Item, Result>[] = []
  let inFlight = 0
  let running: Promise<void> | undefined

  async function run(): Promise<void> {
    // One turn of the event loop: calls made together leave together, and so do those of callbacks
    // that came in together.
    await nextTurn()
    while (waiting.length > 0) {
      const count = fitting(waiting.map((each) => options.bytes(each.item)))
      const batch = waiting.slice(0, count)
      waiting = waiting.slice(count)
      inFlight = batch.length
      await settle(batch)
    }
    running = undefined
  }

  /**
   * Halving goes through a batch from its front, so that a count tells who is answered already: what
   * fails as a whole afterwards is the answer of the others only.
   */
  async function settle(batch: readonly Waiting<Item, Result>[]): Promise<void> {
    let answered = 0
    // Counted before: whom an answer wakes finds what is still to be written.
    function next(): Waiting<Item, Result> | undefined {
      inFlight -= 1
      answered += 1
      return batch[answered - 1]
    }
    async function flush(some: readonly Waiting<Item, Result>[]): Promise<void> {
      for (const result of await options.flush(some.map((each) => each.item))) {
        next()?.resolve(result)
      }
    }
    try {
      await halving(batch, flush, (_, error) => next()?.reject(error))
    } catch (error) {
      while (answered < batch.length) next()?.reject(error)
    }
  }

  function put(item: Waiting<Item, Result>): void {
    waiting.push(item)
    running ??= run()
  }

  return {
    put,
    add(item) {
      return new Promise((resolve, reject) => {
        put({ item, resolve, reject })
      })
    },
    get size() {
      return waiting.length + inFlight
    },
    async idle() {
      await running
    },
  }
}

/** How many items from the front fit one statement; always at least one. */
export function fitting(sizes: readonly number[]): number {
  let bytes = 0
  for (const [index, size] of sizes.entries()) {
    bytes += size
    if (index > 0 && (bytes > MOST_BYTES || index >= MOST_ROWS)) return index
  }
  return sizes.length
}
