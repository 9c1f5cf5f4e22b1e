import { open, shutdownSignal } from 'millrace'
import { factLog } from './history/log.ts'
import type { ProgramSettings } from './process.ts'
import { saidLog } from './said.ts'
import { task } from './task.ts'
import { tellSettlements } from './told-settlements.ts'
import { doTask } from './told-task.ts'

/** A worker that runs tasks until SIGTERM, and logs every run at its beginning and at its end. */
export interface WorkerSettings extends ProgramSettings {
  readonly concurrency: number
}

async function work({ url, log, concurrency }: WorkerSettings): Promise<void> {
  const mill = await open(url, { logger: saidLog(log) })
  const worker = mill.worker({ concurrency })
  const tell = factLog(log, worker.id)
  tell({ what: 'joined', worker: worker.id, concurrency, queues: {}, kinds: {} })
  tellSettlements(tell, worker.id)
  worker.handle(task, (input, run) => doTask({ input, run, tell, worker: worker.id }))
  process.send?.(worker.id)
  await worker.run({ signal: shutdownSignal() })
  await mill.close()
}

// Without its parent it has no reason to be; and only without the channel it can end.
process.on('disconnect', () => process.exit())
const settings: WorkerSettings = JSON.parse(process.argv[2] ?? '')
await work(settings)
process.disconnect()
