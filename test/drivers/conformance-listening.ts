import { describe, expect, test } from 'vitest'
import { until } from '../support/until.ts'
import { type Bench, query } from './bench.ts'

const CHANNEL = 'millrace_0123456789abcdef'

const notify = (channel: string, payload: string) =>
  query('select count(pg_notify($1::text, $2::text))::int4 as n', [channel, payload])

/** Notifications arrive, on their channel, and once they are committed. */
export function listeningConformance(bench: () => Bench): void {
  describe('listening', () => {
    test('a notification of another session arrives, of this channel only', async () => {
      const { engine, session } = bench()
      const heard: string[] = []
      const listening = await engine.listen(CHANNEL, {
        onNotification: (payload) => heard.push(payload),
        onLost: () => heard.push('lost'),
      })
      await session.query(notify('other', 'no'))
      await session.query(notify(CHANNEL, '1 ü'))
      await session.query(notify(CHANNEL, '2'))
      await until(() => heard.length === 2)
      await listening.ping(5_000)
      await listening.close()
      await listening.close()
      expect(heard).toEqual(['1 ü', '2'])
    })

    test('more channels are heard on the same connection, until they are removed', async () => {
      const { engine, session } = bench()
      const heard: string[] = []
      const listening = await engine.listen(CHANNEL, {
        onNotification: (payload) => heard.push(`first ${payload}`),
        onLost: () => heard.push('lost'),
      })
      await Promise.all([
        listening.add('Other one', (payload) => heard.push(`other ${payload}`)),
        listening.add('third', (payload) => heard.push(`third ${payload}`)),
      ])
      await session.query(notify('Other one', '1'))
      await until(() => heard.length === 1)
      await listening.remove('Other one')
      await session.query(notify('Other one', '2'))
      await listening.add('Other one', (payload) => heard.push(`again ${payload}`))
      await session.query(notify('Other one', '3'))
      await session.query(notify('third', '4'))
      await session.query(notify(CHANNEL, '5'))
      await until(() => heard.length >= 4)
      await listening.close()
      expect(heard).toEqual(['other 1', 'again 3', 'third 4', 'first 5'])
    })

    test('what is rolled back is never heard', async () => {
      const { engine, session } = bench()
      const heard: string[] = []
      const listening = await engine.listen(CHANNEL, {
        onNotification: (payload) => heard.push(payload),
        onLost: () => heard.push('lost'),
      })
      const undone = session.transaction(async (transaction) => {
        await transaction.query(notify(CHANNEL, 'undone'))
        throw new Error('undo')
      })
      await expect(undone).rejects.toThrow('undo')
      await session.query(notify(CHANNEL, 'after'))
      await until(() => heard.includes('after'))
      await listening.close()
      expect(heard).toEqual(['after'])
    })
  })
}
