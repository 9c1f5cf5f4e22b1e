import { expect, test } from 'vitest'
import { defineJob, open } from 'millrace'
import { millrace } from '../support/command-line.ts'
import { freshDatabase } from '../support/database.ts'
import { runSql } from '../support/sql.ts'
import { inFull } from './extent.ts'
import { live } from './life.ts'
import { serverPlace } from './server-place.ts'

type Name = readonly [schema: string, prefix: string]

/** Two by two, alike; the prefixes leave room for the longest name of an object. */
const NAMES: readonly Name[] = [
  ['Mixed Case "quoted"; drop table jobs; --', 'select '],
  ['mixed case "quoted"; drop table jobs; --', 'Select '],
  ['工'.repeat(21), 'überäöü 👋'],
  [`${'工'.repeat(20)}abc`, 'überäöü 👌'],
  ...inFull<Name>([
    ["it's $body$ \\ {{schema}} millrace.jobs", '$1 %s `x`'],
    ['public', 'pg_'],
    ['public', ''],
    ['\n\t"; */ --', "'"],
  ]),
]

test('replays 30: whole lives in namespaces with names of every kind, at once, in one database', async () => {
  await using database = await freshDatabase()
  const place = { url: database.url, migrate: 'auto' } as const
  // Two at a time, whose names are alike.
  for (let first = 0; first < NAMES.length; first += 2) {
    const two = NAMES.slice(first, first + 2)
    await Promise.all(
      two.map(([schema, prefix]) => live(serverPlace({ ...place, schema, prefix }))),
    )
  }

  const counts = await Promise.all(
    NAMES.map(async ([schema, prefix]) => {
      await using mill = await open(database.url, { schema, prefix, logger: false })
      const { queues } = await mill.jobs.stats()
      return queues.map(({ kind }) => kind).toSorted()
    }),
  )
  // None has more kinds, or other ones, than each of the others.
  for (const each of counts) expect(each).toEqual(counts[0])
  const [row] = await runSql(
    database.url,
    `select count(*)::int as tables from pg_tables where schemaname = 'millrace'`,
  )
  expect(row).toEqual({ tables: 0 })
}, 60_000)

test('replays 30: the command works in such namespaces, and sees nothing of others', async () => {
  await using database = await freshDatabase()
  const [first, second] = [NAMES[0], NAMES[1]].map(([schema = '', prefix = ''] = ['', '']) => [
    '--database',
    database.url,
    '-s',
    schema,
    '-p',
    prefix,
  ])
  for (const place of [first ?? [], second ?? []]) {
    expect(await millrace(['migrate', 'up', ...place])).toMatchObject({ code: 0, err: '' })
    expect(await millrace(['migrate', 'status', '--check', ...place])).toMatchObject({ code: 0 })
    expect(await millrace(['verify', ...place])).toMatchObject({ code: 0, err: '' })
  }
  const asked = await millrace(['enqueue', 'hello', '{"n":1}', ...(first ?? [])])
  expect(asked).toMatchObject({ code: 0, err: '' })
  const listed = await millrace(['jobs', 'list', '--json', ...(first ?? [])])
  expect(listed.out).toContain('"kind":"hello"')
  const others = await millrace(['jobs', 'list', '--json', ...(second ?? [])])
  expect(others).toMatchObject({ code: 0, out: '' })
}, 60_000)

test('replays 30: a wake-up is heard in its own namespace only', async () => {
  await using database = await freshDatabase()
  const kind = defineJob('heard')
  const options = { migrate: 'auto', logger: false } as const
  await using one = await open(database.url, { ...options, schema: 'One' })
  await using other = await open(database.url, { ...options, schema: 'one' })
  const [mine, theirs] = [one.listen('news'), other.listen('news')]
  await Promise.all([mine.ready(), theirs.ready()])
  const heard: string[] = []
  const reading = (async () => {
    for await (const message of theirs) if (message.type === 'message') heard.push(message.payload)
  })()
  await one.notify('news', 'for one')
  await one.enqueue(kind)
  await other.notify('news', 'for the other')
  for await (const message of mine) {
    if (message.type === 'message') break
  }
  await expect.poll(() => heard).toEqual(['for the other'])
  await theirs.close()
  await reading
})
