import { GiveUp, RetryIn, defineHandlers, defineJob, open, typed } from 'millrace'

// #region kind
interface Invoice {
  number: string
  cents: number
}

const charge = defineJob('charge', {
  input: typed<Invoice>(),
  result: typed<{ receipt: string }>(),
  queue: 'billing',
  priority: (invoice) => (invoice.cents > 100_000 ? 'high' : 'normal'),
  retry: { failures: 5, backoff: { type: 'exponential', base: '200ms', cap: '1m' } },
  timeout: '30s',
})
// #endregion

// #region handlers
const billing = defineHandlers().handle(
  charge,
  async (invoice, run) => {
    if (invoice.cents <= 0) throw new GiveUp(`invoice ${invoice.number} has nothing to charge`)
    if (run.number === 1) throw new RetryIn('300ms', 'the bank asks for a moment')
    run.note(`charged ${invoice.cents / 100}`)
    return { receipt: `receipt for ${invoice.number}` }
  },
  { concurrency: 5 },
)
// #endregion

// #region enqueue
await using mill = await open() // or open({ env: 'DATABASE_URL' })

const { id } = await mill.enqueue(charge, { number: 'A-1', cents: 4200 })
await mill.enqueue(charge, { number: 'A-2', cents: 0 }, { delay: '100ms', priority: 'low' })
await mill.enqueueMany(charge, [
  { number: 'A-3', cents: 100 },
  { number: 'A-4', cents: 200 },
])
// #endregion

// #region work
await mill
  .worker({ queues: ['billing'], concurrency: 10 })
  .use(billing)
  .run({ signal: AbortSignal.timeout(3_000) })
// #endregion

// #region look
const job = await mill.jobs.get(charge, id)
if (job?.state === 'completed') print(`${job.kind} ${job.id}: ${job.result.receipt}`)

for await (const entry of mill.jobs.journal(id)) print(`${entry.outcome} ${entry.note ?? ''}`)
for await (const dead of mill.jobs.list({ state: 'dead' })) print(`${dead.id} is ${dead.state}`)
// #endregion

function print(line: string): void {
  process.stdout.write(`${line}\n`)
}
