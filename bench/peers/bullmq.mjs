// BullMQ as a contender, on a Redis that keeps nothing on disk: what it acknowledges does not
// survive a crash, unlike everywhere else in this comparison.
import { Queue, Worker } from 'bullmq'
import { Redis } from 'ioredis'

const QUEUE = 'noop'
const BATCH = 1_000

const MODES = {
  best: { worker: { concurrency: 100 } },
  lean: { worker: { concurrency: 100 }, job: { removeOnComplete: true } },
  defaults: { worker: {} },
  prompt: { worker: { concurrency: 100 } },
}

export async function open({ url, mode }) {
  const { worker: workerOptions, job = {} } = MODES[mode]
  const connect = () => new Redis(url, { maxRetriesPerRequest: null })
  const connection = connect()
  const queue = new Queue(QUEUE, { connection, defaultJobOptions: job })
  await queue.waitUntilReady()
  return {
    enqueue: (data) => queue.add(QUEUE, data),
    async enqueueMany(list) {
      for (let start = 0; start < list.length; start += BATCH) {
        const jobs = list.slice(start, start + BATCH)
        await queue.addBulk(jobs.map((data) => ({ name: QUEUE, data })))
      }
    },
    async work(onJob) {
      const own = connect()
      const worker = new Worker(QUEUE, async ({ data }) => onJob(data), {
        connection: own,
        ...workerOptions,
      })
      await worker.waitUntilReady()
      return async () => {
        await worker.close()
        own.disconnect()
      }
    },
    async close() {
      await queue.close()
      connection.disconnect()
    },
  }
}
