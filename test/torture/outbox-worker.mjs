// A worker that delivers an outbox, in a process that is killed at random. Over the built package, and
// plain JavaScript: many of them start. It writes when a delivery begins and how it ends, each at once.
import { defineOutbox, GiveUp, open, typed } from 'millrace'
import { Pool } from 'pg'

const { url, lease, backoff } = JSON.parse(process.argv[2])
const insert = 'insert into deliveries (key, id, what, process) values ($1, $2, $3, $4)'

// Without its parent it has no reason to be.
process.on('disconnect', () => process.exit())
const mill = await open(url, { logger: false })
const own = new Pool({ connectionString: url, max: 4 })
const mails = defineOutbox('mails', {
  message: typed(),
  lease,
  retry: { failures: 1_000, backoff },
})

async function note(what, { key, id }) {
  await own.query(insert, [key, id, what, process.pid])
}

const worker = mill.worker({ concurrency: 8 }).deliver(mails, async ({ fails, dies }, delivery) => {
  await note('begins', delivery)
  await new Promise((resolve) => {
    setTimeout(resolve, 3)
  })
  if (dies) {
    await note('dies', delivery)
    throw new GiveUp('nobody takes it')
  }
  if (delivery.failures < fails) {
    await note('fails', delivery)
    throw new Error('not this time')
  }
  await note('ends', delivery)
})
process.on('SIGTERM', () => {
  void mill.close().then(async () => {
    await own.end()
    process.disconnect?.()
  })
})
await worker.start()
process.send?.({ what: 'ready' })
