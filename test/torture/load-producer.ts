import { open } from 'millrace'
import { setTimeout as pause } from 'node:timers/promises'
import { loadInputs, loadKind } from './load-kind.ts'
import { onOrder, TELL_EVERY, tell } from './load-messages.ts'
import type { Order } from './load-messages.ts'

/**
 * A producer in a process of its own. At a rate it asks for what is owed since it got the rate,
 * however long its own asks take: the load does not slow down because the database does. Without
 * one it keeps as many jobs waiting as keep a worker busy.
 */
export interface LoadProducerSettings {
  readonly url: string
}

const TICK = 10
const MOST_AT_ONCE = 5_000
const WAITING = 5_000

async function produce({ url }: LoadProducerSettings): Promise<void> {
  const mill = await open(url, { logger: false })
  let asked = 0
  let done = 0
  let isStopped = false
  let owed = owesNothing

  function setRate(perSecond: number | null): void {
    const [from, at] = [asked, performance.now()]
    owed =
      perSecond === null
        ? () => WAITING - (asked - done)
        : () => Math.floor(from + ((performance.now() - at) / 1_000) * perSecond) - asked
  }

  function obey(order: Order): void {
    if (order.what === 'rate') setRate(order.perSecond)
    if (order.what === 'done') done = order.count
    if (order.what === 'stop') isStopped = true
  }

  onOrder(obey)
  const telling = setInterval(() => tell({ what: 'count', count: asked }), TELL_EVERY)
  tell({ what: 'ready' })
  while (!isStopped) {
    const count = Math.min(MOST_AT_ONCE, owed())
    if (count > 0) await mill.enqueueMany(loadKind, loadInputs(count))
    asked += Math.max(0, count)
    await pause(TICK)
  }
  clearInterval(telling)
  tell({ what: 'count', count: asked })
  await mill.close()
  process.disconnect()
}

function owesNothing(): number {
  return 0
}

const settings: LoadProducerSettings = JSON.parse(process.argv[2] ?? '')
await produce(settings)
