import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import type { LoadReport, News, Order } from './load-messages.ts'
import type { LoadProducerSettings } from './load-producer.ts'
import type { LoadWorkerSettings } from './load-worker.ts'

/** A worker or a producer of a load, in a process of its own over the built package. It ends with this process. */
export interface LoadProcess extends AsyncDisposable {
  /** How many jobs it has asked for, or done, as far as it has told. */
  readonly count: number
  order(order: Order): void
  /** What it saw since the last report. */
  report(): Promise<LoadReport>
  /** Resolves when it has ended by itself; rejects when that was not with code 0. */
  stop(): Promise<void>
}

export function loadWorker(settings: LoadWorkerSettings): Promise<LoadProcess> {
  return start('load-worker.ts', settings)
}

export function loadProducer(settings: LoadProducerSettings): Promise<LoadProcess> {
  return start('load-producer.ts', settings)
}

const RUNNER = fileURLToPath(new URL('../../scripts/run.mjs', import.meta.url))

async function start(
  program: string,
  settings: LoadWorkerSettings | LoadProducerSettings,
): Promise<LoadProcess> {
  const path = fileURLToPath(new URL(program, import.meta.url))
  // Not the flags of this process: under a test runner they are its own.
  const child = fork(RUNNER, [path, JSON.stringify(settings)], { execArgv: [] })
  const exit = once(child, 'exit')
  let count = 0
  child.on('message', (news: News) => {
    if (news.what === 'count') count = news.count
  })

  // One listener for all messages until the right one: two that arrive together are told in one
  // go, and who listens for one after the other misses the second.
  function told<What extends News['what']>(what: What): Promise<Extract<News, { what: What }>> {
    return new Promise((resolve, reject) => {
      const onExit = (code: unknown): void =>
        reject(new Error(`${program} ended with ${String(code)}`))
      child.once('exit', onExit)
      child.on('message', function onNews(news: News) {
        if (!isOf(news, what)) return
        child.off('message', onNews)
        child.off('exit', onExit)
        resolve(news)
      })
    })
  }

  await told('ready')
  return {
    get count() {
      return count
    },
    order: (order) => void child.send(order),
    async report() {
      const answer = told('report')
      child.send({ what: 'report' } satisfies Order)
      return (await answer).report
    },
    async stop() {
      child.send({ what: 'stop' } satisfies Order)
      const [code] = await exit
      if (code !== 0) throw new Error(`${program} ended with ${String(code)}`)
    },
    async [Symbol.asyncDispose]() {
      child.kill('SIGKILL')
      if (child.exitCode === null && child.signalCode === null) await exit
    },
  }
}

function isOf<What extends News['what']>(
  news: News,
  what: What,
): news is Extract<News, { what: What }> {
  return news.what === what
}
