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
