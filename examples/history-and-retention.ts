import { defineJob, GiveUp, open, typed } from 'millrace'

await using mill = await open()

// #region keep
const charge = defineJob('charge', {
  input: typed<{ cents: number }>(),
  retry: { failures: 2, backoff: { type: 'fixed', base: '50ms' } },
  keep: { completed: '1d', dead: 'forever' }, // cancelled: the default, 7 days
})
// #endregion

let isBankOpen = false
const worker = mill.worker().handle(charge, async ({ cents }, run) => {
  if (cents === 0) throw new GiveUp('nothing to charge')
  if (!isBankOpen) throw new Error('the bank is closed')
  run.note(`charged ${cents / 100}`)
  run.attach({ cents })
})
await worker.start()

// #region history
const { id } = await mill.enqueue(charge, { cents: 4200 })
const dead = await mill.jobs.wait(charge, id)
if (dead.state === 'dead') print(`dead after ${dead.failures} failures: ${dead.error?.message}`)

for await (const entry of mill.jobs.journal(id)) {
  print(`${entry.at.toISOString()} ${entry.outcome} ${entry.note ?? ''}`)
}
// #endregion

// #region retry
isBankOpen = true
await mill.jobs.retry({ kind: charge, state: 'dead' }, { by: 'ada' })

const done = await mill.jobs.wait(charge, id)
print(`${done.state} in run ${done.run}, kept until ${done.keptUntil?.toISOString()}`)
// #endregion

// #region cleanup
const old = { finishedBefore: '30d', state: 'dead' } as const
const { matched } = await mill.jobs.cleanup(old, { dryRun: true })
const { applied } = await mill.jobs.cleanup(old, { onProgress: (gone) => print(`${gone} so far`) })
print(`${applied} of ${matched} were removed`)
// #endregion

function print(line: string): void {
  process.stdout.write(`${line}\n`)
}
