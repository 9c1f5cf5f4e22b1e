// A consumer in a process that tests stop and kill. Over the built package.
import { setTimeout as pause } from 'node:timers/promises'
import { defineStream, open, typed } from 'millrace'

const { url, schema, as, lease, ms } = JSON.parse(process.argv[2])
const orders = defineStream('orders', { data: typed() })

// Without its parent it has no reason to be.
process.on('disconnect', () => process.exit())
const mill = await open(url, { schema, logger: false })
try {
  for await (const { offset } of mill.subscribe(orders, { as, lease })) {
    process.send?.({ what: 'event', offset })
    await pause(ms)
  }
} catch (error) {
  process.send?.({ what: 'lost', code: error.code })
}
