// Millrace as a contender, over the built package.
import { defineJob, open as openMill, typed } from 'millrace'

// Jobs are claimed ahead of the slots; more of them only make the pipeline uneven.
const BEST_CONCURRENCY = 100

/** By mode: what is asked of the worker, and what of the kind. */
const MODES = {
  best: { worker: { concurrency: BEST_CONCURRENCY } },
  lean: { worker: { concurrency: BEST_CONCURRENCY }, kind: { keep: { completed: 0 } } },
  defaults: {},
  prompt: {},
  // The worker has a client of its own, as in another process: it hears of jobs, and claims them.
  apart: { isApart: true },
}

export async function open({ url, mode }) {
  const { worker: workerOptions = {}, kind: kindOptions = {}, isApart = false } = MODES[mode]
  const noop = defineJob('noop', { input: typed(), ...kindOptions })
  const mill = await openMill(url, { migrate: 'auto' })
  const ofWorker = isApart ? await openMill(url) : mill
  return {
    enqueue: (data) => mill.enqueue(noop, data),
    enqueueMany: (list) => mill.enqueueMany(noop, list),
    async work(onJob) {
      const worker = ofWorker.worker(workerOptions).handle(noop, (data) => onJob(data))
      await worker.start()
      return () => worker.stop()
    },
    close: () => Promise.all([mill.close(), isApart ? ofWorker.close() : null]),
  }
}
