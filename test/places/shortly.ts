import { setTimeout as pause } from 'node:timers/promises'

/** Looks until it throws no more, and answers what it answered; a place without notifications takes seconds. */
export async function shortly<T>(what: string, look: () => Promise<T> | T): Promise<T> {
  const end = performance.now() + WITHIN
  for (;;) {
    try {
      return await look()
    } catch (error) {
      if (performance.now() > end)
        throw new Error(`not within ${WITHIN} ms: ${what}`, { cause: error })
    }
    await pause(20)
  }
}

const WITHIN = 20_000
