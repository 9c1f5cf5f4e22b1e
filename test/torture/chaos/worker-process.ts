import { shutdownSignal } from 'millrace'
import type { Mill } from 'millrace'
import { factLog } from '../history/log.ts'
import type { ProgramSettings } from '../process.ts'
import { seededRandom } from '../random.ts'
import { complaintLog } from './complaints.ts'
import { readOn } from './consumers.ts'
import { CAPS, handleAll } from './handlers.ts'
import { holdOn } from './holders.ts'
import { tick } from './kinds.ts'
import { ownPool } from './own-tables.ts'
import { openMill, persist } from './patience.ts'
import { tellSettlements } from '../told-settlements.ts'
import { tellMisses } from './told-misses.ts'
import { trueNow } from './true-time.ts'

/** A worker of the chaos: it runs jobs, reads the stream, holds locks and fires schedules until SIGTERM. */
export interface ChaosWorkerSettings extends ProgramSettings {
  readonly seed: number
}

async function work({ url, log, seed }: ChaosWorkerSettings): Promise<void> {
  const signal = shutdownSignal()
  const mill = await openMill(url)
  const { concurrency, queues } = CAPS
  const worker = mill.worker({ concurrency, queues, grace: '5s' })
  const tell = factLog(log, worker.id, trueNow)
  const complain = complaintLog(log)
  const own = ownPool(url, 6)
  tell({ what: 'joined', worker: worker.id, ...CAPS })
  tellSettlements(tell, worker.id)
  tellMisses(tell)
  handleAll({ worker, tell, own })
  process.send?.(worker.id)
  const reading = readOn({ mill, own, signal, complain })
  const holding = holdOn({ mill, tell, random: seededRandom(seed), signal, complain })
  const registering = register(mill, signal).catch((error: unknown) => complain('schedule', error))
  await worker.run({ signal })
  await mill.close()
  await Promise.all([reading, holding, registering])
  await own.end()
}

/** Each boundary has its job, however long nobody could fire it. */
async function register(mill: Mill, signal: AbortSignal): Promise<void> {
  const options = { kind: tick, catchUp: { all: 1_000 } } as const
  await persist(() => mill.schedule('each second', { ...options, every: '1s' }), signal)
  await persist(() => mill.schedule('each third', { ...options, every: '3s' }), signal)
}

// Without its parent it has no reason to be; and only without the channel it can end.
process.on('disconnect', () => process.exit())
if (!process.connected) process.exit()
const settings: ChaosWorkerSettings = JSON.parse(process.argv[2] ?? '')
await work(settings)
process.disconnect()
