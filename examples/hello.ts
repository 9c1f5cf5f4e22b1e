import { defineHandlers, defineJob, open, typed } from 'millrace'

// What can be asked for: a kind has a name and the type of its input.
const welcome = defineJob('welcome', {
  input: typed<{ email: string }>(),
  result: typed<{ sentTo: string }>(),
  retry: { failures: 5, backoff: { type: 'fixed', base: '500ms' } },
})

// What is done about it. To throw is to fail, and to be retried.
const handlers = defineHandlers().handle(welcome, ({ email }, run) => {
  if (run.number === 1) throw new Error('the mail server is busy')
  run.note(`sent at the ${run.number}nd try`)
  return { sentTo: email }
})

await using mill = await open() // embedded; open({ env: 'DATABASE_URL' }) for a server
const { id } = await mill.enqueue(welcome, { email: 'ada@example.org' })

// Works until the signal, then ends what it has begun.
await mill
  .worker()
  .use(handlers)
  .run({ signal: AbortSignal.timeout(3_000) })

for await (const entry of mill.jobs.journal(id)) {
  process.stdout.write(`${entry.at.toISOString()} ${entry.outcome} ${entry.note ?? ''}\n`)
}
