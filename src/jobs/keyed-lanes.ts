import type { Executor, Lane } from '../database/executor.ts'
import type { KeyedAsk } from './keyed-ask.ts'

/**
 * The connections of asks with keys. An ask may wait for another of its key that is not committed
 * yet, so asks of other keys go beside it, on a few connections that open when they are needed.
 * Asks of one key from one client go one after another: whoever asked last decides.
 */
export interface KeyedLanes {
  run<T>(ask: KeyedAsk, work: (lane: Lane) => Promise<T>): Promise<T>
}

const MOST_LANES = 4

export function keyedLanes(executor: Executor): KeyedLanes {
  const count = executor.engine.isSingleConnection ? 1 : MOST_LANES
  const busy: number[] = Array.from({ length: count }, () => 0)
  const last = new Map<string, Promise<unknown>>()

  async function onFreest<T>(work: (lane: Lane) => Promise<T>): Promise<T> {
    const index = busy.indexOf(Math.min(...busy))
    busy[index] = (busy[index] ?? 0) + 1
    try {
      return await work(executor.lane(index === 0 ? 'enqueue keyed' : `enqueue keyed ${index + 1}`))
    } finally {
      busy[index] = (busy[index] ?? 1) - 1
    }
  }

  return {
    run(ask, work) {
      const key = JSON.stringify([ask.kind, ask.keyed.key])
      const before = last.get(key) ?? Promise.resolve()
      const mine = before.then(() => onFreest(work))
      const done = mine.then(forget, forget)
      last.set(key, done)
      return mine

      function forget(): void {
        if (last.get(key) === done) last.delete(key)
      }
    },
  }
}
