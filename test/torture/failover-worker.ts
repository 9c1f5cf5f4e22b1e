import { defineJob } from 'millrace'
import type { JobKind, Mill } from 'millrace'
import type { FactLog } from './history/log.ts'
import { task } from './task.ts'
import { tellSettlements } from './told-settlements.ts'
import { doTask } from './told-task.ts'

interface PulseTypes {
  name: 'pulse'
  input: undefined
  parsed: undefined
  carry: undefined
  result: unknown
}

export const pulse: JobKind<PulseTypes> = defineJob('pulse')

const CONCURRENCY = 20

/** A worker of tasks and pulses in this process, that tells of every run. */
export async function failoverWorker(
  mill: Mill,
  tellAs: (process: string) => FactLog,
): Promise<{ stop(): Promise<void> }> {
  const worker = mill.worker({ concurrency: CONCURRENCY })
  const tell = tellAs(worker.id)
  tell({ what: 'joined', worker: worker.id, concurrency: CONCURRENCY, queues: {}, kinds: {} })
  const fallSilent = tellSettlements(tell, worker.id)
  worker.handle(pulse, () => undefined)
  worker.handle(task, (input, run) => doTask({ input, run, worker: worker.id, tell }))
  await worker.start()
  return {
    async stop() {
      await worker.stop()
      fallSilent()
    },
  }
}
