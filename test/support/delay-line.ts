import type { Writable } from 'node:stream'

/** Passes data on after a while, in order; or holds it back until it is let go. */
export interface DelayLine {
  pass(data: Buffer): void
  /** How long what comes from now on takes, in milliseconds; Infinity holds it back. */
  setDelay(ms: number): void
}

export function delayLine(to: Writable): DelayLine {
  const queue: { readonly data: Buffer; readonly dueAt: number }[] = []
  let delayMs = 0
  let timer: NodeJS.Timeout | undefined

  function run(): void {
    clearTimeout(timer)
    for (let first = queue[0]; first !== undefined; first = queue[0]) {
      const waitMs = first.dueAt - performance.now()
      if (waitMs > 0) {
        if (Number.isFinite(waitMs)) timer = setTimeout(run, waitMs)
        return
      }
      queue.shift()
      if (to.writable) to.write(first.data)
    }
  }

  return {
    pass(data) {
      if (delayMs === 0 && queue.length === 0) to.write(data)
      else {
        queue.push({ data, dueAt: performance.now() + delayMs })
        run()
      }
    },
    setDelay(ms) {
      delayMs = ms
      const latest = performance.now() + ms
      // What was held back goes on, too.
      for (const [index, { data, dueAt }] of queue.entries()) {
        queue[index] = { data, dueAt: Math.min(dueAt, latest) }
      }
      run()
    },
  }
}
