import { grouped } from './history.ts'
import type { FactOf, History } from './history.ts'

/**
 * Of one name the holds follow each other in the order of their tokens, each over before the next
 * began: its holder had let go or had been told, or its last term had ended by the clock that terms
 * are measured by. What was told of a process that stalled comes late and is no fault by itself.
 */
export function lockFaults(history: History): readonly string[] {
  const holds = grouped(holdsOf(history), ({ lock }) => lock)
  return [...holds.values()].flatMap((ofName) => {
    const inOrder = ofName.toSorted((one, other) => one.token - other.token)
    return inOrder.slice(1).flatMap((hold, position) => {
      const before = inOrder[position]
      return before === undefined ? [] : orderFaults(before, hold)
    })
  })
}

interface Hold {
  readonly lock: string
  readonly token: number
  readonly process: string
  readonly takenAt: number
  readonly from: number
  readonly until: number
  /** By the machine's clock; Infinity where the holder told of no end. */
  readonly overAt: number
}

function holdsOf(history: History): readonly Hold[] {
  const extended = grouped(history.of('extended'), holdKey)
  const over = grouped([...history.of('let-go'), ...history.of('lost')], holdKey)
  return history.of('took').map((took) => ({
    lock: took.lock,
    token: took.token,
    process: took.process,
    takenAt: took.at,
    from: took.from,
    until: Math.max(took.until, ...(extended.get(holdKey(took)) ?? []).map(({ until }) => until)),
    overAt: Math.min(
      Number.POSITIVE_INFINITY,
      ...(over.get(holdKey(took)) ?? []).map(({ at }) => at),
    ),
  }))
}

function orderFaults(before: Hold, hold: Hold): readonly string[] {
  const name = `lock ${hold.lock}: ${hold.process} took it with token ${hold.token}`
  if (hold.token === before.token) return [`${name}, as ${before.process} did`]
  if (before.overAt <= hold.takenAt || before.until <= hold.from) return []
  const isBackwards = hold.takenAt < before.takenAt && hold.from < before.from
  return isBackwards
    ? [`${name} before ${before.process} took it with ${before.token}`]
    : [`${name} while ${before.process} held it with ${before.token}`]
}

function holdKey({ lock, token }: FactOf<'took' | 'extended' | 'let-go' | 'lost'>): string {
  return `${token} ${lock}`
}
