import type { Clock } from '../core/clock.ts'
import { isId } from '../core/id.ts'
import { batcher } from '../database/batcher.ts'
import type { Lane } from '../database/executor.ts'
import type { WakeHint } from '../database/hint.ts'
import { announceEnds } from '../jobs/wait-statements.ts'

/**
 * The jobs that somebody waits for (`jobs.wait`), as far as this worker heard: when it has settled
 * one of them it says so on the channel. Of the others a settlement costs one look into a map. Who
 * was not heard, or is forgotten, finds the end by looking, within a second.
 */
export interface Awaited {
  hear(hint: WakeHint): void
  /** A run of this job was settled. */
  settled(id: string): void
  /** Resolves when everything is said. */
  idle(): Promise<void>
}

export interface AwaitedOptions {
  readonly clock: Clock
  readonly lane: () => Lane
  readonly onFailure: (error: unknown) => void
}

// More, or longer ago, are found by who waits.
const MOST = 10_000
const REMEMBERED = 3_600_000
const HINT_BYTES = 60

export function awaited({ clock, lane, onFailure }: AwaitedOptions): Awaited {
  // In the order they were heard, the oldest first.
  const heardAt = new Map<string, number>()
  const saying = batcher<string, void>({ flush: say, bytes: () => HINT_BYTES })

  async function say(ids: readonly string[]): Promise<readonly void[]> {
    await lane().run(announceEnds, { ids: `{${ids.join(',')}}` })
    return ids.map(() => undefined)
  }

  return {
    hear(hint) {
      if (hint.type !== 'wait' || !isId(hint.id)) return
      heardAt.delete(hint.id)
      heardAt.set(hint.id, clock.now())
      const [oldest] = heardAt.keys()
      if (heardAt.size > MOST && oldest !== undefined) heardAt.delete(oldest)
    },
    settled(id) {
      const at = heardAt.get(id)
      if (at === undefined) return
      if (clock.now() - at > REMEMBERED) heardAt.delete(id)
      else saying.add(id).catch(onFailure)
    },
    idle: saying.idle,
  }
}
