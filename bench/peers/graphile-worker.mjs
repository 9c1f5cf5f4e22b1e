// graphile-worker as a contender. It deletes a job that completed and keeps nothing of it.
import { Logger, makeWorkerUtils, run } from 'graphile-worker'

const BATCH = 1_000
const logger = new Logger(() => () => {})

// Its performance page: a local queue, completions in batches as soon as one can leave. Its own
// default of `concurrentJobs` is 1.
const worker = (concurrency) => ({ concurrentJobs: concurrency, maxPoolSize: concurrency + 2 })
const best = {
  ...worker(24),
  localQueue: { size: 500, refetchDelay: { durationMs: 10 } },
  completeJobBatchDelay: 0,
  failJobBatchDelay: 0,
}
const MODES = {
  best,
  // It never keeps anything.
  lean: best,
  concurrent: worker(24),
  defaults: {},
  // The local queue waits before it fetches again: without it a single job starts sooner.
  prompt: worker(24),
}

export async function open({ url, mode }) {
  const utils = await makeWorkerUtils({
    preset: { worker: { connectionString: url, maxPoolSize: 20, logger } },
  })
  await utils.migrate()
  return {
    enqueue: (data) => utils.addJob('noop', data),
    async enqueueMany(list) {
      for (let start = 0; start < list.length; start += BATCH) {
        const specs = list.slice(start, start + BATCH)
        await utils.addJobs(specs.map((payload) => ({ identifier: 'noop', payload })))
      }
    },
    async work(onJob) {
      const runner = await run({
        preset: { worker: { connectionString: url, logger, ...MODES[mode] } },
        noHandleSignals: true,
        taskList: { noop: (data) => onJob(data) },
      })
      return () => runner.stop()
    },
    close: async () => utils.release(),
  }
}
