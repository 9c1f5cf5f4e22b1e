import { setTimeout as pause } from 'node:timers/promises'
import { expect, test } from 'vitest'
import type { Lock, Mill } from '../../src/index.ts'
import { setup } from '../support/mill.ts'
import type { About, Fact } from '../torture/history/fact.ts'
import { faultsOf } from '../torture/history/faults.ts'

const TTL = 400
const SECONDS = Number(process.env['STORM_SECONDS'] ?? 5)

test(
  'K1, K2: two never hold a lock, and tokens only grow, whatever stalls, gives up or is cut off',
  async () => {
    await using t = await setup()
    const others = await Promise.all([1, 2, 3].map(() => setup({ schema: t.schema })))
    const mills = [t, ...others].map(({ mill }) => mill)
    const end = performance.now() + SECONDS * 1_000
    const facts: Fact[] = []
    const faults: string[] = []
    const counts = { held: 0, stalled: 0, gaveUp: 0, refused: 0, cut: 0 }

    // In the order of telling: all of it happens in this process.
    function tell(about: About): void {
      facts.push({ at: facts.length, process: 'storm', ...about })
    }

    /** A holder, for as long as it could believe that it has the lock. */
    function enter(lock: Lock): void {
      const { name, token, signal } = lock
      counts.held += 1
      const until = lock.expiresAt.getTime()
      tell({ what: 'took', lock: name, token, from: until - TTL, until })
      if (signal.aborted) tell({ what: 'lost', lock: name, token })
      signal.addEventListener('abort', () => tell({ what: 'lost', lock: name, token }))
    }

    // Before it asks: from then on it claims nothing. A renewal may have lengthened the term.
    function release(lock: Lock): Promise<boolean> {
      const own = { lock: lock.name, token: lock.token }
      tell({ what: 'extended', ...own, until: lock.expiresAt.getTime() })
      tell({ what: 'let-go', ...own })
      return lock.release()
    }

    async function stalls(mill: Mill): Promise<void> {
      const lock = await mill.lock('storm', { ttl: TTL, renew: false })
      enter(lock)
      await pause(TTL + 50)
      counts.stalled += 1
      if (await lock.release()) faults.push('a lock that ended was released')
    }

    async function works(mill: Mill): Promise<void> {
      const lock = await mill.lock('storm', { ttl: TTL })
      enter(lock)
      await pause(chance(30))
      await release(lock)
    }

    async function givesUp(mill: Mill): Promise<void> {
      const signal = AbortSignal.timeout(chance(60))
      try {
        const lock = await mill.lock('storm', { ttl: TTL, signal })
        enter(lock)
        await release(lock)
      } catch {
        counts.gaveUp += 1
      }
    }

    async function tries(mill: Mill): Promise<void> {
      const lock = await mill.tryLock('storm', { ttl: TTL })
      if (lock === null) {
        counts.refused += 1
        await pause(chance(20))
        return
      }
      enter(lock)
      await release(lock)
    }

    async function actor(mill: Mill): Promise<void> {
      while (performance.now() < end) {
        const act = [works, works, works, works, givesUp, tries, stalls][chance(7)] ?? works
        // What was cut off may fail; what it left is over by itself.
        await act(mill).catch(() => undefined)
      }
    }

    async function cutter(): Promise<void> {
      while (performance.now() < end) {
        await pause(300)
        const { rows } = await t.sql.query(
          `select pg_terminate_backend(pid) from pg_stat_activity
           where datname = current_database() and application_name in ('millrace lock', 'millrace renew', 'millrace listen')
           order by random() limit 1`,
        )
        counts.cut += rows.length
      }
    }

    await Promise.all([
      ...mills.flatMap((mill) => [actor(mill), actor(mill), actor(mill)]),
      cutter(),
    ])
    expect([...faults, ...faultsOf(facts)]).toEqual([])
    expect(counts.held).toBeGreaterThan(SECONDS)
    expect(counts.cut).toBeGreaterThan(0)
    await Promise.all(others.map((each) => each.close()))
    if (process.env['MEASURE'] === 'yes') process.stdout.write(`${JSON.stringify(counts)}\n`)
  },
  SECONDS * 1_000 + 60_000,
)

function chance(below: number): number {
  return Math.floor(Math.random() * below)
}
