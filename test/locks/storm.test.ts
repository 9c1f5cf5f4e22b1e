import { setTimeout as pause } from 'node:timers/promises'
import { expect, test } from 'vitest'
import type { Lock, Mill } from '../../src/index.ts'
import { setup } from '../support/mill.ts'

const TTL = 400
const SECONDS = Number(process.env['STORM_SECONDS'] ?? 5)

/** A holder, for as long as it could believe that it has the lock. */
interface Hold {
  readonly lock: Lock
  isReleased: boolean
}

test(
  'K1, K2: two never hold a lock, and tokens only grow, whatever stalls, gives up or is cut off',
  async () => {
    await using t = await setup()
    const others = await Promise.all([1, 2, 3].map(() => setup({ schema: t.schema })))
    const mills = [t, ...others].map(({ mill }) => mill)
    const end = performance.now() + SECONDS * 1_000
    const holds: Hold[] = []
    const faults: string[] = []
    const counts = { held: 0, stalled: 0, gaveUp: 0, refused: 0, cut: 0 }

    function enter(lock: Lock): Hold {
      const since = lock.expiresAt.getTime() - TTL
      for (const { lock: before, isReleased } of holds) {
        if (before.token >= lock.token && !lock.signal.aborted)
          faults.push(`${lock.token} after ${before.token}`)
        if (!isReleased && before.expiresAt.getTime() > since) {
          faults.push(`${lock.token} since ${since}, ${before.token} until ${+before.expiresAt}`)
        }
      }
      counts.held += 1
      const hold = { lock, isReleased: false }
      holds.push(hold)
      return hold
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
      const hold = enter(lock)
      await pause(chance(30))
      // Before it asks: from then on it claims nothing.
      hold.isReleased = true
      await lock.release()
    }

    async function givesUp(mill: Mill): Promise<void> {
      const signal = AbortSignal.timeout(chance(60))
      try {
        const lock = await mill.lock('storm', { ttl: TTL, signal })
        enter(lock).isReleased = true
        await lock.release()
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
      enter(lock).isReleased = true
      await lock.release()
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
    expect(faults).toEqual([])
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
