import { expectTypeOf, test } from 'vitest'
import { defineJob, typed } from '../../src/index.ts'
import type { Mill, ScheduleRecord } from '../../src/index.ts'

declare const mill: Mill
const sweep = defineJob('sweep')
const report = defineJob('report', { input: typed<{ of: string }>() })
const dedup = defineJob('dedup', { input: typed<string>(), dedup: (of) => of, carry: { n: 0 } })

test('a schedule takes the input of its kind, and one timing', () => {
  expectTypeOf(
    mill.schedule('s', { every: '1h', kind: sweep }),
  ).resolves.toEqualTypeOf<ScheduleRecord>()
  void mill.schedule('s', { cron: '0 0 * * *', timezone: 'UTC', kind: report, input: { of: 'a' } })
  void mill.schedule('s', { every: 500, kind: dedup, input: 'a', dedup: 'k', expires: '1h' })
  void mill.schedule('s', { every: '1h', kind: sweep, catchUp: { all: 3 }, overlap: 'skip' })
  // @ts-expect-error both timings
  void mill.schedule('s', { every: '1h', cron: '0 0 * * *', kind: sweep })
  // @ts-expect-error no timing
  void mill.schedule('s', { kind: sweep })
  // @ts-expect-error a zone goes with cron
  void mill.schedule('s', { every: '1h', timezone: 'UTC', kind: sweep })
  // @ts-expect-error the input is missing
  void mill.schedule('s', { every: '1h', kind: report })
  // @ts-expect-error another input
  void mill.schedule('s', { every: '1h', kind: report, input: { of: 1 } })
  // @ts-expect-error there is no input to give
  void mill.schedule('s', { every: '1h', kind: sweep, input: 1 })
  // @ts-expect-error a kind, not its name
  void mill.schedule('s', { every: '1h', kind: 'sweep' })
  // @ts-expect-error a duration from the fire
  void mill.schedule('s', { every: '1h', kind: sweep, expires: new Date(0) })
  // @ts-expect-error no such word
  void mill.schedule('s', { every: '1h', kind: sweep, catchUp: 'all' })
  // @ts-expect-error no unit
  void mill.schedule('s', { every: '1 hour', kind: sweep })
})
