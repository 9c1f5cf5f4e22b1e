import { afterAll, beforeAll, expect, test } from 'vitest'
import { defineJob, migrations, open } from 'millrace'
import { millrace } from '../support/command-line.ts'
import { freshDatabase } from '../support/database.ts'
import type { FreshDatabase } from '../support/database.ts'

let database: FreshDatabase
let schemas = 0
const visit = defineJob('visit')

beforeAll(async () => {
  database = await freshDatabase()
})

afterAll(() => database.drop())

async function setup() {
  schemas += 1
  const schema = `cli_schedules_${schemas}`
  await using tables = migrations(database.url, { schema })
  await tables.up()
  const run = (words: readonly string[]) =>
    millrace(['schedules', ...words, '-d', database.url, '-s', schema])
  return { run, schema, mill: await open(database.url, { schema }) }
}

test('schedules list and next show what there is, for people and for programs', async () => {
  const { run, mill } = await setup()
  await using _mill = mill
  expect(await run(['list'])).toEqual({ code: 0, out: 'no schedules\n', err: '' })
  await mill.schedule('yearly', { cron: '0 0 1 1 *', timezone: 'Asia/Kathmandu', kind: visit })
  await mill.schedule('daily', { every: '1d', kind: visit })
  const { out } = await run(['list'])
  expect(out).toMatch(
    /^schedule +kind +when +next +last +last job\ndaily +visit +every 86400000 ms/,
  )
  expect(out).toMatch(/yearly +visit +0 0 1 1 \* Asia\/Kathmandu +\d{4}-12-31/)
  const [, line = ''] = (await run(['list', '--json'])).out.split('\n')
  expect(JSON.parse(line)).toMatchObject({ name: 'yearly', cron: '0 0 1 1 *', paused: false })
  expect((await run(['next', 'yearly', '--count', '2'])).out).toMatch(
    /^\d{4}-12-31T18:15:00.000Z\n\d{4}-12-31T18:15:00.000Z\n$/,
  )
  const json = JSON.parse((await run(['next', 'yearly', '--json'])).out)
  expect(json).toMatchObject({ name: 'yearly', next: { length: 5 } })
})

test('schedules pause, resume, run and remove say what came of it', async () => {
  const { run, mill, schema } = await setup()
  await using _mill = mill
  await mill.enqueue(visit)
  await mill.schedule('daily', { every: '1d', kind: visit })
  expect((await run(['pause', 'daily'])).out).toBe('daily is paused\n')
  expect((await run(['list'])).out).toMatch(/daily +visit +every 86400000 ms +paused/)
  expect((await run(['resume', 'daily'])).out).toMatch(/^daily fires next at \d{4}-/)
  const ran = JSON.parse((await run(['run', 'daily', '--json'])).out)
  expect(await mill.jobs.get(ran.id)).toMatchObject({ schedule: { name: 'daily' } })
  const words = ['jobs', 'list', '--schedule', 'daily', '--json', '-d', database.url, '-s', schema]
  expect(JSON.parse((await millrace(words)).out)).toMatchObject({ id: ran.id })
  expect(await run(['remove', 'daily'])).toEqual({ code: 0, out: 'daily removed\n', err: '' })
  expect(await run(['remove', 'daily'])).toMatchObject({ code: 1, out: 'daily was not there\n' })
  expect(JSON.parse((await run(['remove', 'daily', '--json'])).out)).toEqual({
    name: 'daily',
    removed: false,
  })
})

test('a schedule that is not there is a no, a bad value a misuse', async () => {
  const { run, mill } = await setup()
  await mill.close()
  for (const verb of ['next', 'pause', 'resume', 'run']) {
    expect(await run([verb, 'nobody'])).toMatchObject({
      code: 1,
      err: expect.stringContaining('UNKNOWN_SCHEDULE'),
    })
  }
  expect((await run(['next', 'nobody', '--count', 'x'])).code).toBe(2)
  expect((await run(['pause', ' '])).code).toBe(2)
})
