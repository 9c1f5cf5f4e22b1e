import { readdirSync, readFileSync } from 'node:fs'

// The unit of /proc/<pid>/stat, on every Linux that Node runs on.
const MS_PER_TICK = 10

/**
 * The processor time that a server has used since it started, in milliseconds: the postmaster, its
 * living children, and those that ended, whose time it inherited. Null where there is no /proc.
 */
export function serverCpuMs(postmaster: number): number | null {
  if (process.platform !== 'linux') return null
  // A child that ends while the others are read is counted neither as living nor as ended.
  for (;;) {
    const before = statOf(postmaster)
    if (before === undefined) return null
    const living = ticksOfChildren(postmaster)
    const after = statOf(postmaster)
    if (after?.ticksOfEnded === before.ticksOfEnded) {
      return (after.ticks + after.ticksOfEnded + living) * MS_PER_TICK
    }
  }
}

function ticksOfChildren(postmaster: number): number {
  let ticks = 0
  for (const pid of readdirSync('/proc')) {
    const stat = /^\d+$/.test(pid) ? statOf(Number(pid)) : undefined
    if (stat?.parent === postmaster) ticks += stat.ticks
  }
  return ticks
}

interface ProcessStat {
  readonly parent: number
  readonly ticks: number
  readonly ticksOfEnded: number
}

/** Undefined for a process that ended meanwhile. */
function statOf(pid: number): ProcessStat | undefined {
  let text: string
  try {
    text = readFileSync(`/proc/${pid}/stat`, 'utf8')
  } catch {
    return undefined
  }
  // The name in the second field may hold spaces and brackets; after it come state, parent, …
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
  const field = (index: number): number => Number(fields[index])
  return {
    parent: field(1),
    ticks: field(11) + field(12),
    ticksOfEnded: field(13) + field(14),
  }
}
