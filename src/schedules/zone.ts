/**
 * When the clocks of a time zone change, from the data that Node carries. Years are looked through
 * once, a day at a time, and kept: a rule is asked for the same few years again and again.
 */
export interface Change {
  /** Milliseconds since the Unix epoch: the first instant with the new offset. */
  readonly at: number
  /** What local time was ahead of UTC, in milliseconds, and what it is from then on. */
  readonly before: number
  readonly after: number
}

/** A stretch of time in which a zone keeps its offset. */
export interface Stretch {
  readonly from: number
  /** Not included. */
  readonly until: number
  readonly offset: number
}

export function isZone(name: string): boolean {
  try {
    formatterOf(name)
    return true
  } catch {
    return false
  }
}

/** What has the instants from `from` to `to`, in order; the first and the last reach beyond. */
export function stretchesOf(zone: string, from: number, to: number): readonly Stretch[] {
  const changes = changesBetween(zone, from, to)
  const [first] = changes
  const offset = first === undefined ? offsetAt(zone, from) : first.before
  const begins = [
    { at: Number.NEGATIVE_INFINITY, after: offset },
    ...changes.map(({ at, after }) => ({ at, after })),
  ]
  return begins.map(({ at, after }, index) => ({
    from: at,
    until: begins[index + 1]?.at ?? Number.POSITIVE_INFINITY,
    offset: after,
  }))
}

/** The changes after `from`, up to and with `to`. */
export function changesBetween(zone: string, from: number, to: number): readonly Change[] {
  const changes: Change[] = []
  for (let year = yearOf(from); year <= yearOf(to); year += 1) {
    for (const change of changesIn(zone, year)) {
      if (change.at > from && change.at <= to) changes.push(change)
    }
  }
  return changes
}

/** By how many milliseconds local time is ahead of UTC. */
export function offsetAt(zone: string, at: number): number {
  const [, sign, hours, minutes, seconds] = OFFSET.exec(formatterOf(zone).format(at)) ?? []
  if (sign === undefined) return 0
  const ahead = Number(hours) * 3_600 + Number(minutes) * 60 + Number(seconds ?? 0)
  return (sign === '-' ? -ahead : ahead) * SECOND
}

const SECOND = 1_000
const DAY = 86_400_000
const OFFSET = /GMT([+-])(\d\d):(\d\d)(?::(\d\d))?$/

// More than one process asks for; whoever asks for more begins anew.
const MOST_KEPT = 500
const formatters = new Map<string, Intl.DateTimeFormat>()
const years = new Map<string, readonly Change[]>()

function formatterOf(zone: string): Intl.DateTimeFormat {
  return kept(formatters, zone, () => {
    return new Intl.DateTimeFormat('en-US', { timeZone: zone, timeZoneName: 'longOffset' })
  })
}

function changesIn(zone: string, year: number): readonly Change[] {
  return kept(years, `${year} ${zone}`, () => {
    const changes: Change[] = []
    const end = Date.UTC(year + 1, 0)
    let before = offsetAt(zone, Date.UTC(year, 0))
    for (let day = Date.UTC(year, 0) + DAY; day <= end; day += DAY) {
      const after = offsetAt(zone, day)
      if (after !== before) changes.push({ at: changeWithin(zone, day - DAY, day), before, after })
      before = after
    }
    return changes
  })
}

/** The first second with the offset of `late`, by halves. */
function changeWithin(zone: string, early: number, late: number): number {
  const offset = offsetAt(zone, late)
  let [before, after] = [early, late]
  while (after - before > SECOND) {
    const middle = before + Math.floor((after - before) / (2 * SECOND)) * SECOND
    if (offsetAt(zone, middle) === offset) after = middle
    else before = middle
  }
  return after
}

function kept<T>(cache: Map<string, T>, key: string, make: () => T): T {
  const known = cache.get(key)
  if (known !== undefined) return known
  const made = make()
  if (cache.size >= MOST_KEPT) cache.clear()
  cache.set(key, made)
  return made
}

function yearOf(at: number): number {
  return new Date(at).getUTCFullYear()
}
