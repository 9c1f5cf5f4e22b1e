import { expect, test } from 'vitest'
import { listener } from '../../src/channels/listener.ts'
import type { Ear } from '../../src/database/ears.ts'
import { ears } from '../../src/database/ears.ts'
import type { Listening } from '../../src/database/database.ts'
import { UnheardError } from '../../src/database/wakeups.ts'
import { DatabaseError } from '../../src/index.ts'
import { until } from '../support/until.ts'

function setup() {
  const heard: Ear[] = []
  const made = listener({
    hear(ear) {
      heard.push(ear)
      return () => heard.pop()
    },
    signal: undefined,
    onClosed: () => undefined,
  })
  const [ear] = heard
  if (ear === undefined) throw new Error('it does not hear')
  return { made, ear, heard }
}

test('N1: behind a pooler, where nothing ever arrives, a listener fails and says why', async () => {
  const { made, ear, heard } = setup()
  const iteration = made[Symbol.asyncIterator]().next()
  const ready = made.ready()
  ear.onProblem(new UnheardError())
  await expect(ready).rejects.toThrow(DatabaseError)
  await expect(iteration).rejects.toThrow('Connect to the server itself')
  expect(heard).toEqual([])
})

test('N1: a database that is away is waited for', async () => {
  const { made, ear } = setup()
  let isReady = false
  void made.ready().then(() => (isReady = true))
  ear.onProblem(new Error('connection refused'))
  ear.onProblem(new Error('connection refused'))
  await Promise.resolve()
  expect(isReady).toBe(false)
  ear.onBegin()
  await until(() => isReady)
  const iterator = made[Symbol.asyncIterator]()
  ear.onPayload('first')
  expect(await iterator.next()).toEqual({
    done: false,
    value: { type: 'message', payload: 'first' },
  })
})

test('N1: interruptions one after another are one resync', async () => {
  const { made, ear } = setup()
  ear.onBegin()
  for (let round = 0; round < 3; round += 1) {
    ear.onProblem(new Error('lost'))
    ear.onBegin()
  }
  ear.onPayload('then')
  const iterator = made[Symbol.asyncIterator]()
  expect((await iterator.next()).value).toEqual({ type: 'resync' })
  expect((await iterator.next()).value).toEqual({ type: 'message', payload: 'then' })
})

test('N1: of what nobody reads the newest are kept, behind a resync', async () => {
  const { made, ear } = setup()
  ear.onBegin()
  for (let n = 1; n <= 100_000; n += 1) ear.onPayload(String(n))
  await made.close()
  const unread: unknown[] = []
  for await (const message of made) unread.push(message)
  expect(unread).toHaveLength(1_000)
  expect(unread[0]).toEqual({ type: 'resync' })
  expect(unread[1]).toEqual({ type: 'message', payload: '99002' })
  expect(unread.at(-1)).toEqual({ type: 'message', payload: '100000' })
})

test('a channel that cannot be listened on gives the connection up, and all begin again on the next', async () => {
  const all = ears()
  const told: string[] = []
  const ear = (name: string): Ear => ({
    onBegin: () => told.push(`${name} begins`),
    onPayload: (payload) => told.push(`${name} hears ${payload}`),
    onProblem: () => told.push(`${name} has a problem`),
  })
  const failures: unknown[] = []
  all.add('a', ear('one'))
  all.begin(connection({ isRefusing: true }), (error) => failures.push(error))
  await until(() => failures.length === 1)
  all.end(failures[0])
  all.begin(connection({ isRefusing: false }), (error) => failures.push(error))
  await until(() => told.includes('one begins'))
  const remove = all.add('a', ear('two'))
  remove()
  remove()
  expect(told).toEqual(['one has a problem', 'one begins', 'two begins'])
  expect(failures).toHaveLength(1)
})

function connection({ isRefusing }: { readonly isRefusing: boolean }): Listening {
  return {
    add: () => (isRefusing ? Promise.reject(new Error('no')) : Promise.resolve()),
    remove: nothing,
    ping: nothing,
    close: nothing,
    [Symbol.asyncDispose]: nothing,
  }
}

function nothing(): Promise<void> {
  return Promise.resolve()
}
