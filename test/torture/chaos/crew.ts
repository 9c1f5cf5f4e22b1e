import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { proxyTo } from '../../support/proxy.ts'
import type { Proxy } from '../../support/proxy.ts'
import { startProcess } from '../process.ts'
import type { TortureProcess } from '../process.ts'
import type { ChaosProducerSettings } from './producer-process.ts'
import { trueNow } from './true-time.ts'
import type { ChaosWorkerSettings } from './worker-process.ts'

/**
 * The processes of the chaos, each behind a proxy of its own, so that the network of one can be bad
 * and that of another good. None may end by itself, and each must end when it is asked to.
 */
export interface Crew {
  readonly members: ReadonlySet<Member>
  /** What a process did that none may do. */
  readonly violations: readonly string[]
  readonly logs: readonly string[]
  /** How many were begun. */
  readonly begun: number
  start(role: Role, shiftMs: number): Promise<void>
  /** SIGKILL, in the midst of whatever it does. */
  kill(member: Member): Promise<void>
  /** SIGTERM: it must end by itself. */
  terminate(member: Member): Promise<void>
  /** Ends what still lives, without a word. */
  close(): Promise<void>
}

export type Role = 'worker' | 'producer'

export interface Member {
  readonly role: Role
  readonly process: TortureProcess
  readonly proxy: Proxy
}

export interface CrewOptions {
  readonly seed: number
  /** Milliseconds between two steps of a producer. */
  readonly everyMs: number
}

// Grace, statements on connections that are dead without saying so, and a slow machine.
const END_WITHIN = 60_000
/** Numbers of one producer's asks; the next one begins behind them. */
const RANGE = 1_000_000

const PROGRAMS = {
  worker: 'chaos/worker-process.ts',
  producer: 'chaos/producer-process.ts',
} as const

export function makeCrew(url: string, options: CrewOptions): Crew {
  const directory = mkdtempSync(join(tmpdir(), 'millrace-chaos-'))
  const members = new Set<Member>()
  const violations: string[] = []
  const logs: string[] = []
  let begun = 0

  async function start(role: Role, shiftMs: number): Promise<void> {
    await startNext(role, shiftMs).catch((error: unknown) => {
      violations.push(`a ${role} ended before it was at work: ${String(error)}`)
    })
  }

  async function startNext(role: Role, shiftMs: number): Promise<void> {
    // Before anything is waited for: several may begin at the same time.
    const index = begun
    begun += 1
    const proxy = await proxyTo(url)
    const log = join(directory, `${index}.log`)
    logs.push(log)
    const own: ChaosWorkerSettings = { url: proxy.url, log, seed: options.seed * 1_000 + index }
    const production = { first: index * RANGE, everyMs: options.everyMs }
    const settings: ChaosWorkerSettings | ChaosProducerSettings =
      role === 'worker' ? own : { ...own, ...production }
    const process = await startProcess(PROGRAMS[role], settings, { shiftMs })
    const member = { role, process, proxy }
    members.add(member)
    void watch(member)
  }

  /** A member that was not taken out of the crew first has ended by itself. */
  async function watch(member: Member): Promise<void> {
    const how = await member.process.ended.then(
      () => 'with code 0',
      (error: unknown) => String(error),
    )
    if (members.delete(member)) {
      violations.push(`${member.role} ${member.process.name} ended by itself: ${how}`)
    }
  }

  async function terminate(member: Member): Promise<void> {
    members.delete(member)
    const over = new AbortController()
    const name = `${member.role} ${member.process.name}`
    const ending = member.process.terminate().catch((error: unknown) => {
      violations.push(`${name} was asked to end: ${String(error)}`)
    })
    const late = pause(END_WITHIN, 'late' as const, { signal: over.signal }).catch(() => undefined)
    if ((await Promise.race([ending, late])) === 'late') {
      violations.push(`${name} was asked to end, and had not after ${END_WITHIN} ms`)
      await member.process.kill()
    }
    over.abort()
    await member.proxy.close()
  }

  async function kill(member: Member): Promise<void> {
    members.delete(member)
    await member.process.kill()
    await member.proxy.close()
  }

  return {
    members,
    violations,
    logs,
    get begun() {
      return begun
    },
    start,
    kill,
    terminate,
    async close() {
      await Promise.all([...members].map(kill))
      rmSync(directory, { recursive: true, force: true })
    },
  }
}

/** A fault, from its begin to its end, and whom it hit: null for everybody. */
export interface Strike {
  readonly how: string
  readonly target: string | null
  readonly from: number
  readonly to: number
}

/** Does it, and says when it was done. */
export async function struck(
  how: string,
  target: string | null,
  work: () => Promise<void>,
): Promise<Strike> {
  const from = trueNow()
  await work()
  return { how, target, from, to: trueNow() }
}
