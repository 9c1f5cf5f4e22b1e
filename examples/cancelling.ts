import { defineJob, open, typed } from 'millrace'

// Quiet: a run that is forced to end is a warning.
await using mill = await open('memory:', { logger: false })

// #region handler
const report = defineJob('report', { input: typed<{ pages: number }>() })

const worker = mill.worker().handle(report, async ({ pages }, run) => {
  for (let page = 1; page <= pages; page += 1) {
    run.signal.throwIfAborted()
    await writePage(page, run.signal)
    run.progress(page, pages)
  }
})
await worker.start()
// #endregion

// #region cancel
const { id } = await mill.enqueue(report, { pages: 1_000_000 })
const waiting = await mill.enqueue(report, { pages: 1 }, { delay: '1h' })

await mill.jobs.cancel(waiting.id, { by: 'ada', why: 'no longer needed' }) // ends at once
await mill.jobs.cancel(id, { by: 'ada' }) // its run is told, and ends it
// #endregion

// #region wait
const job = await mill.jobs.wait(report, id, { timeout: '30s' })
if (job.state === 'cancelled') print(`${job.id} was cancelled by ${job.by}`)
// #endregion

// #region filter
const many = await mill.enqueueMany(report, [{ pages: 1 }, { pages: 2 }], { delay: '1h' })

const which = { kind: report, state: 'pending' } as const
const { matched } = await mill.jobs.cancel(which, { dryRun: true })
print(`${matched} of ${many.length} would be meant`)

const { applied } = await mill.jobs.cancel(which, { onProgress: (done) => print(`${done} so far`) })
print(`${applied} were cancelled`)
// #endregion

// #region reschedule
const later = await mill.enqueue(report, { pages: 3 }, { delay: '1d' })

await mill.jobs.reschedule(later.id, { delay: '2h', priority: 'low' }) // somewhat sooner
await mill.jobs.reschedule(later.id, { delay: 0 }) // now
// #endregion

// #region force
const hanging = await mill.enqueue(report, { pages: 1_000_000 })
await begun(hanging.id)

await mill.jobs.cancel(hanging.id, { force: true, why: 'it hangs' })
print((await mill.jobs.get(hanging.id))?.state ?? 'gone') // cancelled, whatever its run still does
// #endregion

print((await mill.jobs.wait(later.id)).state) // completed

async function writePage(_page: number, signal: AbortSignal): Promise<void> {
  await pause()
  signal.throwIfAborted()
}

function pause(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 1))
}

async function begun(job: string): Promise<void> {
  while ((await mill.jobs.get(job))?.state !== 'running') await pause()
}

function print(line: string): void {
  process.stdout.write(`${line}\n`)
}
