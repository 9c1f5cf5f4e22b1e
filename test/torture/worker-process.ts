import { open, shutdownSignal } from 'millrace'
import { runLog } from './log.ts'
import type { ProgramSettings } from './process.ts'
import { perform, task } from './task.ts'

/** A worker that runs tasks until SIGTERM, and logs every run at its beginning and at its end. */
export interface WorkerSettings extends ProgramSettings {
  readonly concurrency: number
}

async function work({ url, log: path, concurrency }: WorkerSettings): Promise<void> {
  const log = runLog(path)
  const mill = await open(url, { logger: false })
  const worker = mill.worker({ concurrency }).handle(task, async (input, run) => {
    log.began(run.id, run.number)
    run.signal.addEventListener('abort', () => log.told(run.id, run.number), { once: true })
    try {
      await perform(input, run)
    } finally {
      log.ended(run.id, run.number)
    }
  })
  process.send?.(worker.id)
  await worker.run({ signal: shutdownSignal() })
  await mill.close()
}

// Without its parent it has no reason to be; and only without the channel it can end.
process.on('disconnect', () => process.exit())
const settings: WorkerSettings = JSON.parse(process.argv[2] ?? '')
await work(settings)
process.disconnect()
