// A worker in a process of its own, over the built package, as an application would have it. What
// happens is told to the parent, one message each: statements by name, runs, and what runs are told.
import { subscribe } from 'node:diagnostics_channel'
import { once } from 'node:events'
import { performance } from 'node:perf_hooks'
import { setTimeout as pause } from 'node:timers/promises'
import { defineJob, open, shutdownSignal, typed } from 'millrace'

const { url, schema } = JSON.parse(process.argv[2])
const tell = (what, facts = {}) => process.send?.({ what, ...facts })

subscribe('tracing:millrace:statement:start', ({ statement }) => tell('statement', { statement }))
subscribe('millrace:notice', ({ message }) => tell('notice', { message }))
// Without its parent it has no reason to be.
process.on('disconnect', () => process.exit())

const visit = defineJob('visit', { input: typed(), result: typed() })
const mill = await open(url, { schema, logger: false })
const worker = mill.worker({ concurrency: 20 }).handle(visit, async (input, run) => {
  const facts = { job: run.id, run: run.number }
  tell('began', { ...facts, at: Date.now() })
  run.signal.addEventListener('abort', () =>
    tell('told', { ...facts, code: run.signal.reason.code }),
  )
  if (input.blockMs > 0) block(input.blockMs)
  if (input.untilTold) await once(run.signal, 'abort')
  await pause(input.waitMs ?? 0)
  tell('returned', facts)
  return worker.id
})
tell('ready', { worker: worker.id })
await worker.run({ signal: shutdownSignal() })
await mill.close()
process.disconnect()

/** The event loop stands still, as under a long computation. */
function block(ms) {
  const end = performance.now() + ms
  while (performance.now() < end);
}
