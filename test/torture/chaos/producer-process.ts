import { setMaxListeners } from 'node:events'
import { setTimeout as pause } from 'node:timers/promises'
import { shutdownSignal } from 'millrace'
import { factLog } from '../history/log.ts'
import { orders } from '../orders.ts'
import type { ProgramSettings } from '../process.ts'
import { pick, seededRandom } from '../random.ts'
import {
  askDoomed,
  askGathered,
  askInside,
  askNarrow,
  askPaged,
  askParent,
  askSingle,
  askTask,
  askTasks,
  askTimely,
} from './asks.ts'
import type { Asking } from './asks.ts'
import { complaintLog } from './complaints.ts'
import { CAPS, handleAll } from './handlers.ts'
import { ownPool, PATIENCE_MS } from './own-tables.ts'
import { openMill } from './patience.ts'
import { publishSome, sendOne } from './told-inside.ts'
import type { Telling } from './told-inside.ts'
import { tellSettlements } from '../told-settlements.ts'
import { tellMisses } from './told-misses.ts'
import { trueNow } from './true-time.ts'

/** A producer of the chaos: it asks for everything there is, in every way, and does a little of it, until SIGTERM. */
export interface ChaosProducerSettings extends ProgramSettings {
  readonly seed: number
  /** The number of its first ask. */
  readonly first: number
  readonly everyMs: number
}

const CONCURRENCY = 4

/** Steps under way at once: with a database that is away no more are begun. */
const MOST_UNDER_WAY = 40

const WAYS: readonly (readonly [(scene: Asking & Telling) => Promise<void>, number])[] = [
  [askTask, 6],
  [askTasks, 3],
  [askInside, 2],
  [askGathered, 6],
  [askPaged, 2],
  [askParent, 2],
  [askTimely, 3],
  [askNarrow, 3],
  [askSingle, 2],
  [askDoomed, 1],
  [publishSome, 4],
  [sendOne, 4],
]

async function produce(settings: ChaosProducerSettings): Promise<void> {
  const signal = shutdownSignal()
  // Each step that waits hears it.
  setMaxListeners(0, signal)
  const { url, log, seed, first, everyMs } = settings
  const mill = await openMill(url)
  const own = ownPool(url, 6)
  // A worker of its own client: while it rests it starts what is asked one by one as it is written.
  const { queues, kinds } = CAPS
  const worker = mill.worker({ concurrency: CONCURRENCY, queues, grace: '5s' })
  const tell = factLog(log, worker.id, trueNow)
  tell({ what: 'joined', worker: worker.id, concurrency: CONCURRENCY, queues, kinds })
  tellSettlements(tell, worker.id)
  tellMisses(tell)
  handleAll({ worker, tell, own })
  const random = seededRandom(seed)
  const complain = complaintLog(log)
  let number = first
  const scene = {
    mill,
    own,
    random,
    signal,
    complain,
    tell,
    orders: orders(url, { withinMs: PATIENCE_MS }),
    nextNumber: () => number++,
  }
  process.send?.(worker.id)
  const working = worker.run({ signal })
  const underWay = new Set<Promise<void>>()
  while (!signal.aborted) {
    if (underWay.size < MOST_UNDER_WAY) {
      const step = pick(random, WAYS)(scene).catch((error: unknown) => complain('step', error))
      underWay.add(step)
      void step.finally(() => underWay.delete(step))
    }
    await pause(everyMs, undefined, { signal }).catch(() => undefined)
  }
  await Promise.all([...underWay, working])
  await scene.orders.close()
  await own.end()
  await mill.close()
}

// Without its parent it has no reason to be; and only without the channel it can end.
process.on('disconnect', () => process.exit())
if (!process.connected) process.exit()
const settings: ChaosProducerSettings = JSON.parse(process.argv[2] ?? '')
await produce(settings)
process.disconnect()
