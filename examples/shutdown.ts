import { setTimeout as pause } from 'node:timers/promises'
import { defineHandlers, defineJob, open, shutdownSignal, typed } from 'millrace'

await using mill = await open()
let written = 0

// #region handler
const report = defineJob('report', {
  input: typed<{ pages: number }>(),
  carry: { page: 0 },
})

const handlers = defineHandlers().handle(report, async ({ pages }, run) => {
  while (run.carry.page < pages) {
    run.signal.throwIfAborted() // rejects with ShutdownError: the job is handed back, no failure
    await writePage(run.carry.page, run.signal)
    run.carry.page += 1
    await run.checkpoint()
  }
})
// #endregion

// #region run
const worker = mill.worker({ concurrency: 10, grace: '20s' }).use(handlers)
const working = worker.run({ signal: shutdownSignal() })
// #endregion

const { id } = await mill.enqueue(report, { pages: 30 })
while (pagesWritten() < 3) await pause(5)

// #region stop
await worker.stop() // or SIGTERM, or `await using`; a second call ends the grace at once
// #endregion
await working

const released = await mill.jobs.get(report, id)
print(`${released?.state}, run ${released?.run}, ${released?.failures} failures`)

// #region resume
await using next = mill.worker().use(handlers)
await next.start() // goes on with the page after the last checkpoint
// #endregion
while ((await mill.jobs.get(id))?.state !== 'completed') await pause(10)
print(`completed after ${pagesWritten()} pages`)

function pagesWritten(): number {
  return written
}

async function writePage(page: number, signal: AbortSignal): Promise<void> {
  await pause(10, undefined, { signal })
  written = Math.max(written, page + 1)
}

function print(line: string): void {
  process.stdout.write(`${line}\n`)
}
