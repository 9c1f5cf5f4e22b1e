// A worker whose runs write an effect and their settlement in one transaction, in a process that is
// killed in the midst of it. Over the built package, and plain JavaScript: a thousand of them start.
import { setTimeout as pause } from 'node:timers/promises'
import { defineJob, open, typed } from 'millrace'
import postgres from 'postgres'

const { url, concurrency } = JSON.parse(process.argv[2])
const work = defineJob('transaction', { input: typed() })
const insert = 'insert into effects (job, run, worker) values ($1, $2, $3)'

// Without its parent it has no reason to be.
process.on('disconnect', () => process.exit())
const mill = await open(url, { logger: false })
const sql = postgres(url, { max: concurrency, onnotice: () => {} })
const worker = mill.worker({ concurrency }).handle(work, async ({ number, ms }, run) => {
  const values = [run.id, run.number, worker.id]
  const between = () => {
    process.send?.({ what: 'written', number })
    return pause(ms)
  }
  if (number % 2 === 0) {
    await run.transaction(async (tx) => {
      await tx.query(insert, values)
      await between()
    })
  } else {
    await run.transaction(sql, async (tx) => {
      await tx.unsafe(insert, values)
      await between()
    })
  }
  process.send?.({ what: 'committed', number })
})
process.on('SIGTERM', () => {
  void worker
    .stop()
    .then(() => mill.close())
    .then(() => sql.end())
    .then(() => process.disconnect())
})
await worker.start()
process.send?.({ what: 'ready', worker: worker.id })
