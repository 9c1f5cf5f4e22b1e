import { defineHandlers, defineJob, open, typed } from 'millrace'

await using mill = await open()

// #region kinds
const welcome = defineJob('welcome', { input: typed<string>(), queue: 'mail', priority: 'high' })
const digest = defineJob('digest', { input: typed<string>(), queue: 'mail', priority: 'low' })
const resize = defineJob('resize', { input: typed<string>(), queue: 'images' })
// #endregion

const done: string[] = []
const note = (kind: string) => (name: string) => {
  done.push(`${kind} ${name}`)
}

// #region caps
const handlers = defineHandlers()
  .handle(welcome, note('welcome'))
  .handle(digest, note('digest'), { concurrency: 2 })
  .handle(resize, note('resize'))

const worker = mill
  .worker({
    queues: { mail: 8, images: 3 },
    concurrency: 10,
    fairness: 'rotate',
    failures: 5,
  })
  .use(handlers)
// #endregion

// #region queues
await mill.queues.pause('images')
await mill.queues.set('images', { priority: 'low', retry: { failures: 3 } })
const { id } = await mill.enqueue(resize, 'cat.png')
for (const { queue, pausedSince } of await mill.queues.list()) {
  print(`${queue} ${pausedSince === null ? 'is open' : 'is paused'}`)
}
// #endregion

await mill.enqueueMany(welcome, ['ada', 'bob'])
await mill.enqueueMany(digest, ['monday', 'tuesday'])
await worker.start()
while (done.length < 4) await pause()

// #region resume
await mill.queues.resume('images')
// #endregion
while (done.length < 5) await pause()
await worker.stop()

// #region handles
await mill.enqueueMany(welcome, ['cleo', 'dan', 'eve'])
for (const job of await mill.claim({ kinds: [welcome, digest], limit: 50, lease: '2m' })) {
  await using handle = job // given back where the block is left without a verb
  if (handle.kind === 'welcome') await handle.complete()
  else await handle.retry({ delay: '1h', error: new Error('not today') })
}
// #endregion

const job = await mill.jobs.get(id)
print(`${job?.kind} at priority ${job?.priority} of ${job?.failureLimit} failures: ${job?.state}`)

function pause(): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, 10)
  })
}

function print(line: string): void {
  process.stdout.write(`${line}\n`)
}
