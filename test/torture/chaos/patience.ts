import { setTimeout as pause } from 'node:timers/promises'
import { DatabaseError, open } from 'millrace'
import type { Mill } from 'millrace'

const AGAIN_AFTER = 200

/** Repeats it while the database says no, as whoever starts an application would. */
export async function persist<T>(work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
  for (;;) {
    try {
      return await work()
    } catch (error) {
      if (!(error instanceof DatabaseError) || signal?.aborted === true) throw error
    }
    await pause(AGAIN_AFTER, undefined, { signal })
  }
}

export function openMill(url: string): Promise<Mill> {
  return persist(() => open(url, { logger: false }))
}
