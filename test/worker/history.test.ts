import { expect, test } from 'vitest'
import { defineJob, InvalidOptionError } from '../../src/index.ts'
import type { JournalEntry } from '../../src/index.ts'
import { statementChannel } from '../../src/core/telemetry.ts'
import { manualSetup } from '../support/mill.ts'
import { until } from '../support/until.ts'

const visit = defineJob('visit', { carry: 0 })

test('H2: run.history gives what happened before, oldest first: the newest 100 entries, or as many as are asked for', async () => {
  await using bench = await manualSetup()
  const { mill, sql } = bench
  const { id } = await mill.enqueue(visit)
  await sql.query(
    `insert into journal (job_id, at, outcome, run, failures, worker, started_at, due_at, note)
     select $1, now(), 'paused', n, 0, 'w', now(), now(), 'note ' || n from generate_series(1, 150) n`,
    [id],
  )
  const seen = new Map<string, readonly JournalEntry[]>()
  await using worker = mill.worker().handle(visit, async (_input, run) => {
    seen.set('default', await run.history())
    seen.set('3', await run.history({ limit: 3 }))
    seen.set('all', await run.history({ limit: 10_000 }))
    seen.set('none', await run.history({ limit: 0 }))
    seen.set('below none', await run.history({ limit: -1 }))
  })
  await worker.start()
  await until(async () => (await mill.jobs.get(id))?.state === 'completed')
  const notes = (which: string): unknown => seen.get(which)?.map(({ note }) => note)
  expect(notes('3')).toEqual(['note 148', 'note 149', 'note 150'])
  expect(seen.get('default')).toHaveLength(100)
  expect(seen.get('default')?.[0]).toMatchObject({ outcome: 'paused', note: 'note 51' })
  expect(seen.get('all')).toHaveLength(150)
  expect([notes('none'), notes('below none')]).toEqual([[], []])
})

test('H2: nothing is read of the history until a run asks for it', async () => {
  await using bench = await manualSetup()
  const { mill } = bench
  const statements: string[] = []
  const hear = (message: unknown): void => {
    if (typeof message === 'object' && message !== null && 'statement' in message) {
      statements.push(String(message.statement))
    }
  }
  statementChannel.start.subscribe(hear)
  try {
    let ask = false
    await using worker = mill.worker().handle(visit, async (_input, run) => {
      if (ask) await run.history()
    })
    await worker.start()
    const first = await mill.enqueue(visit)
    await until(async () => (await mill.jobs.get(first.id))?.state === 'completed')
    expect(statements).not.toContain('job_journal_newest')
    ask = true
    const second = await mill.enqueue(visit)
    await until(async () => (await mill.jobs.get(second.id))?.state === 'completed')
    expect(statements).toContain('job_journal_newest')
  } finally {
    statementChannel.start.unsubscribe(hear)
  }
})

test.each([
  ['a fraction', { limit: 1.5 }],
  ['more than there can be', { limit: 10_001 }],
  ['text', { limit: '5' }],
  ['an unknown option', { last: 5 }],
])('run.history refuses %s', async (_what, options) => {
  await using bench = await manualSetup()
  const { mill } = bench
  let thrown: unknown
  await using worker = mill.worker().handle(visit, async (_input, run) => {
    const reading: Promise<unknown> = Reflect.apply(run.history, run, [options])
    thrown = await reading.catch((error: unknown) => error)
  })
  await mill.enqueue(visit)
  await worker.start()
  await until(() => thrown !== undefined)
  expect(thrown).toBeInstanceOf(InvalidOptionError)
})
