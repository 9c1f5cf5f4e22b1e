import { setTimeout as pause } from 'node:timers/promises'
import { between, pick } from '../random.ts'
import type { Random } from '../random.ts'
import type { Crew, Member, Strike } from './crew.ts'
import { struck } from './crew.ts'
import { LEASE_MS } from './kinds.ts'

/** A fault: drawn first, so that the seed decides it whatever the machine does meanwhile. */
export type Fault = (random: Random) => Promise<Strike | undefined>

export interface ProcessFaults {
  readonly crew: Crew
  /** Runs something beside all else; it is waited for at the end. */
  readonly beside: (work: Promise<void>) => void
}

const MINUTES = 60_000
const SHIFTS = [
  [0, 2],
  [5 * MINUTES, 1],
  [-5 * MINUTES, 1],
] as const
// When the server's keepalive has found out that a client is gone.
const FOUND_OUT_AFTER = 5_000

/** What happens to processes and to their networks, one of them at a time. */
export function processFaults({ crew, beside }: ProcessFaults): ReadonlyMap<string, Fault> {
  function anyMember(random: Random): Member | undefined {
    const members = [...crew.members]
    return members[Math.floor(random() * members.length)]
  }

  /** Of one member, if there is one. */
  function onOne(
    how: string,
    draw: (random: Random) => (member: Member) => Promise<void>,
  ): readonly [string, Fault] {
    return [
      how,
      async (random) => {
        const member = anyMember(random)
        const work = draw(random)
        if (member === undefined) return undefined
        return struck(how, member.process.name, () => work(member))
      },
    ]
  }

  return new Map([
    onOne('kill', (random) => {
      const shiftMs = pick(random, SHIFTS)
      return async (member) => {
        await crew.kill(member)
        // It is gone from now on; the one in its place comes up beside what happens next.
        beside(crew.start(member.role, shiftMs))
      }
    }),
    onOne('terminate', (random) => {
      const shiftMs = pick(random, SHIFTS)
      return async (member) => {
        const ending = crew.terminate(member)
        beside(ending)
        beside(crew.start(member.role, shiftMs))
      }
    }),
    onOne('freeze', (random) => {
      const ms = between(random, LEASE_MS / 4, LEASE_MS * 2)
      return async (member) => {
        member.process.freeze()
        await pause(ms)
        member.process.thaw()
      }
    }),
    onOne('cut', () => async (member) => {
      member.proxy.reset()
    }),
    onOne('delay', (random) => {
      const [delay, ms] = [between(random, 20, 400), between(random, 500, 4_000)]
      return async (member) => {
        member.proxy.delay(delay)
        await pause(ms)
        member.proxy.delay(0)
      }
    }),
    onOne('stall', (random) => {
      const ms = between(random, 500, LEASE_MS * 2)
      return async (member) => {
        member.proxy.delay(Number.POSITIVE_INFINITY)
        await pause(ms)
        member.proxy.delay(0)
      }
    }),
    onOne('blackhole', (random) => {
      const ms = between(random, 500, LEASE_MS * 2)
      // Of the idle connections, too, or of those only on which something was sent meanwhile.
      const isWhole = random() < 0.5
      return async (member) => {
        if (isWhole) member.proxy.bury()
        member.proxy.freeze()
        await pause(ms)
        member.proxy.thaw()
        beside(pause(FOUND_OUT_AFTER).then(member.proxy.forgetDead))
      }
    }),
    onOne('clock', (random) => {
      const shiftMs = between(random, -5 * MINUTES, 5 * MINUTES)
      return async (member) => {
        member.process.shiftClock(shiftMs)
      }
    }),
  ])
}
