import { open } from 'millrace'
import { quantile } from './ratio.ts'
import { loadKind } from './load-kind.ts'
import { onOrder, TELL_EVERY, tell } from './load-messages.ts'
import type { Order, Spread } from './load-messages.ts'
import { statementTimes } from './statement-times.ts'

/** A worker in a process of its own that does nothing in its jobs, and measures how it came by them. */
export interface LoadWorkerSettings {
  readonly url: string
  readonly concurrency: number
}

async function work({ url, concurrency }: LoadWorkerSettings): Promise<void> {
  const mill = await open(url, { logger: false })
  let count = 0
  let starts: number[] = []
  let claims: number[] = []
  const worker = mill.worker({ concurrency }).handle(loadKind, ({ askedAt }) => {
    count += 1
    starts.push(Date.now() - askedAt)
  })
  const deafen = statementTimes({ lane: 'claim' }, ({ statement, ms, rows }) => {
    // A claim that found nothing has walked the less.
    if (statement.startsWith('claim_') && rows > 0) claims.push(ms)
  })
  const telling = setInterval(() => tell({ what: 'count', count }), TELL_EVERY)

  function report(): void {
    const { user, system } = process.cpuUsage()
    const cpuMs = (user + system) / 1_000
    tell({ what: 'report', report: { claims: spread(claims), starts: spread(starts), cpuMs } })
    starts = []
    claims = []
  }

  async function stop(): Promise<void> {
    clearInterval(telling)
    deafen()
    await worker.stop()
    await mill.close()
    process.disconnect()
  }

  async function obey(order: Order): Promise<void> {
    if (order.what === 'go') await worker.start()
    if (order.what === 'report') report()
    if (order.what === 'stop') await stop()
  }

  onOrder((order) => void obey(order))
  tell({ what: 'ready' })
}

function spread(values: readonly number[]): Spread {
  return { count: values.length, p50: quantile(values, 0.5), p99: quantile(values, 0.99) }
}

const settings: LoadWorkerSettings = JSON.parse(process.argv[2] ?? '')
await work(settings)
