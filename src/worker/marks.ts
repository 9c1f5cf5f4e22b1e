import { instantText } from '../core/instant-text.ts'

/**
 * Where the walk of the claim index begins. Rows that left `ready` stay in the index as dead entries
 * while any snapshot is held open anywhere, and pile up at its front (measured: a claim went from
 * 0.4 to 11.9 ms). So each probe, a lane of kinds in a queue's level, starts where the last one
 * ended. A mark is memory only, a hint: what commits late lies before it, and is found by the hint
 * that announces it or by a walk from the start that only looks.
 */
export interface Mark {
  /** Milliseconds since the Unix epoch; -Infinity at the start. */
  readonly due: number
  readonly id: string
}

export interface Marks {
  of(probe: Probe): Mark
  /** A walk leaves now: what is lowered before it comes back stays low, for the walk cannot have seen it. */
  walkBegins(): void
  /** The probe was walked: `last` is the last row it took, `exhausted` that nothing due is left behind it at `now`. */
  walked(probe: Probe, found: { last: Mark | undefined; exhausted: boolean; now: number }): void
  /** Rows from this place on may have appeared. */
  lower(probe: Probe, to: Mark): void
  /** A queue has something due from this instant on, at a level and of a kind unknown. */
  lowerQueue(queue: string, due: number): void
  /** Whether any mark hides anything at all. */
  readonly areSet: boolean
}

export interface Probe {
  readonly queue: string
  readonly level: number
  /** The kinds asked for together, as a key. */
  readonly lane: string
}

const START: Mark = { due: Number.NEGATIVE_INFINITY, id: '' }

// An exhausted probe may go on at the present, but asks that are being committed right now carry
// instants a little before it: they are kept in reach without a hint.
const COMMIT_MARGIN = 250

export function marks(): Marks {
  const byQueue = new Map<string, Map<string, Mark>>()
  /** What was lowered since the walk under way began, by queue and by probe. */
  let floors = new Map<string, Mark>()

  function of(probe: Probe): Mark {
    return byQueue.get(probe.queue)?.get(keyOf(probe)) ?? START
  }

  function set(probe: Probe, mark: Mark): void {
    let probes = byQueue.get(probe.queue)
    if (probes === undefined) byQueue.set(probe.queue, (probes = new Map()))
    probes.set(keyOf(probe), mark)
  }

  function floor(place: string, to: Mark): void {
    floors.set(place, earlier(to, floors.get(place) ?? to))
  }

  function downToFloors(probe: Probe, mark: Mark): Mark {
    const ofQueue = floors.get(probe.queue) ?? mark
    return earlier(mark, earlier(ofQueue, floors.get(placeOf(probe)) ?? mark))
  }

  return {
    of,
    walkBegins() {
      floors = new Map()
    },
    walked(probe, { last, exhausted, now }) {
      let mark = of(probe)
      if (last !== undefined) mark = later(mark, last)
      if (exhausted) mark = later(mark, { due: now - COMMIT_MARGIN, id: '' })
      set(probe, floors.size === 0 ? mark : downToFloors(probe, mark))
    },
    lower(probe, to) {
      floor(placeOf(probe), to)
      if (isBefore(to, of(probe))) set(probe, to)
    },
    lowerQueue(queue, due) {
      const to = { due, id: '' }
      floor(queue, to)
      for (const [key, mark] of byQueue.get(queue) ?? []) {
        if (isBefore(to, mark)) byQueue.get(queue)?.set(key, to)
      }
    },
    get areSet() {
      return byQueue.size > 0
    },
  }
}

/**
 * A mark's instant as statements take it. Down to the whole millisecond: instants of the database may
 * hold fractions, and a mark that was rounded up would hide the very row it was lowered to, for ever.
 */
export function markText(due: number): string {
  return due === Number.NEGATIVE_INFINITY ? '-infinity' : instantText(Math.floor(due))
}

function keyOf(probe: Probe): string {
  return `${probe.level} ${probe.lane}`
}

/** Told apart from a queue's own name by U+0000, which no name holds. */
function placeOf(probe: Probe): string {
  return `${probe.queue}\0${keyOf(probe)}`
}

function isBefore(a: Mark, b: Mark): boolean {
  return a.due < b.due || (a.due === b.due && a.id < b.id)
}

function later(a: Mark, b: Mark): Mark {
  return isBefore(a, b) ? b : a
}

function earlier(a: Mark, b: Mark): Mark {
  return isBefore(a, b) ? a : b
}
