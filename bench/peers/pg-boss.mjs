// pg-boss as a contender. One handler call has a whole batch, and completes it in one statement.
import { PgBoss } from 'pg-boss'

const QUEUE = 'noop'
const BATCH = 5_000

// A full batch is followed by the next at once; half a second is the shortest poll it allows.
const batches = (batchSize, localConcurrency) => ({
  batchSize,
  localConcurrency,
  burstWhenBatchFull: true,
  pollingIntervalSeconds: 0.5,
})
const MODES = {
  best: { work: batches(BATCH, 4) },
  // Smaller batches for a steady load, woken by notifications.
  steady: { work: batches(1_000, 4), notify: true },
  defaults: { work: {} },
  prompt: { work: batches(100, 1), notify: true },
}

export async function open({ url, mode }) {
  const { work, notify = false } = MODES[mode]
  const boss = new PgBoss({ connectionString: url, max: 20, useListenNotify: notify })
  boss.on('error', () => {})
  boss.on('warning', () => {})
  await boss.start()
  await boss.createQueue(QUEUE, { notify })
  return {
    enqueue: (data) => boss.send(QUEUE, data),
    async enqueueMany(list) {
      for (let start = 0; start < list.length; start += BATCH) {
        const jobs = list.slice(start, start + BATCH)
        await boss.insert(
          QUEUE,
          jobs.map((data) => ({ data })),
        )
      }
    },
    async work(onJob) {
      await boss.work(QUEUE, work, async (jobs) => {
        for (const { data } of jobs) onJob(data, jobs.length)
      })
      return () => boss.offWork(QUEUE, { wait: true })
    },
    close: () => boss.stop({ graceful: true, timeout: 5_000 }),
  }
}
