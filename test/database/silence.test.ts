import { expect, test } from 'vitest'
import { databaseClock } from '../../src/core/clock.ts'
import type { Lane } from '../../src/database/executor.ts'
import { silence } from '../../src/database/silence.ts'
import type { Hearing } from '../../src/database/silence.ts'
import type { Statement } from '../../src/database/statement.ts'
import { executorOn } from '../support/executor.ts'
import { databaseOfFile } from '../support/mill.ts'
import { proxyTo } from '../support/proxy.ts'
import type { Proxy } from '../support/proxy.ts'

const ask: Statement<Record<string, never>, { one: number }> = {
  name: 'ask',
  text: 'select 1::int4 as one',
  parameters: [],
}
// Longer than the lane of renewals waits, shorter than the others do.
const sleep: Statement<Record<string, never>, { slept: string }> = {
  name: 'sleep',
  text: 'select pg_sleep(6)::text as slept',
  parameters: [],
}

interface SilentLanes extends AsyncDisposable {
  readonly proxy: Proxy
  readonly lane: (purpose: string) => Lane
}

async function silentLanes(timeoutMs: number): Promise<SilentLanes> {
  const proxy = await proxyTo(await databaseOfFile())
  const clock = databaseClock()
  const executor = await executorOn({ url: proxy.url, schema: 'none' }, clock, timeoutMs)
  async function dispose(): Promise<void> {
    proxy.reset()
    await executor.close()
    clock.close()
    await proxy.close()
  }
  return { proxy, lane: executor.lane, [Symbol.asyncDispose]: dispose }
}

test('replays 11: of connections that died together one is waited for, and the others are made anew', async () => {
  await using bench = await silentLanes(3_000)
  const first = bench.lane('claim')
  const others = ['settle', 'maintenance'].map(bench.lane)
  for (const lane of [first, ...others]) await lane.run(ask, {})
  bench.proxy.bury()
  await expect(first.run(ask, {})).rejects.toMatchObject({ statement: 'ask' })
  for (const lane of others) expect(await lane.run(ask, {})).toEqual([{ one: 1 }])
})

test('what is under way on another connection may wait for a lock, and is left alone', async () => {
  await using bench = await silentLanes(8_000)
  const renewals = bench.lane('renew')
  await renewals.run(ask, {})
  bench.proxy.bury()
  const slept = bench.lane('claim').run(sleep, {})
  await expect(renewals.run(ask, {})).rejects.toMatchObject({ statement: 'ask' })
  expect(await slept).toHaveLength(1)
})

test('one that was heard in the instant before goes with it, one that was heard since stays', async () => {
  const { connected, heard } = silence()
  const given: string[] = []
  function lane(name: string): Hearing {
    const hearing: Hearing = { session: null, underWay: 0, heardAt: 0 }
    const session = { wentSilent: name === 'silent', giveUp: () => void given.push(name) }
    connected(hearing, session)
    return hearing
  }
  const [silent, before, since] = [lane('silent'), lane('before'), lane('since')]
  await heard(before, () => Promise.resolve())
  const failing = heard(silent, async () => {
    await heard(since, () => Promise.resolve())
    throw new Error('no answer')
  })
  await expect(failing).rejects.toThrow('no answer')
  expect(given).toEqual(['before'])
})
