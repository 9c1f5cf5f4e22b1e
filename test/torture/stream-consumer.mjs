// A consumer of two streams, in a process that is killed at random. Over the built package, and plain
// JavaScript: many of them start. What it saw it writes into a table: in the transaction that moves
// its offset, or, with `how: 'subscribe'`, before it asks for the next event.
import { defineStream, open, typed } from 'millrace'
import { Client } from 'pg'

const { url, as, how, lease } = JSON.parse(process.argv[2])
const insert = 'insert into seen (consumer, stream, event_offset, id) values ($1, $2, $3, $4)'

// Without its parent it has no reason to be.
process.on('disconnect', () => process.exit())
const mill = await open(url, { logger: false })
const own = new Client({ connectionString: url })
await own.connect()

async function consume(stream) {
  await mill.consume(stream, { as, lease, limit: 50 }, async (events, tx) => {
    for (const { offset, id } of events) await tx.query(insert, [as, stream.name, offset, id])
  })
}

async function subscribe(stream) {
  for (;;) {
    try {
      for await (const { offset, id } of mill.subscribe(stream, { as, lease })) {
        await own.query(insert, [as, stream.name, offset, id])
      }
      return
    } catch (error) {
      if (error.code !== 'LEASE_LOST') throw error
    }
  }
}

const streams = ['orders', 'audits'].map((name) => defineStream(name, { data: typed() }))
process.on('SIGTERM', () => {
  void mill.close().then(() => own.end())
})
process.send?.({ what: 'ready' })
await Promise.all(streams.map(how === 'consume' ? consume : subscribe))
process.disconnect?.()
