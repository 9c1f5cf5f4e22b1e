import { dateFrom } from '../core/instant-text.ts'
import type { OutboxDefinition } from '../core/message-producer.ts'
import { checkKey, checkName } from '../core/names.ts'
import type { Runner } from '../database/executor.ts'
import { haltedKeys, skipHalted } from './outbox-admin-statements.ts'
import { outboxSource } from './outbox.ts'

/** A key that stands still: its message is dead, and its outbox says `onDead: 'halt'`. */
export interface HaltedKey {
  readonly outbox: string
  readonly key: string
  /** The dead message: `mill.jobs.get(id)` tells why, `mill.jobs.retry(id)` sends it again. */
  readonly id: string
  readonly deadSince: Date
  /** How many messages wait behind it; counted up to 1 000. */
  readonly waiting: number
}

/** What can be asked and done about outboxes. Messages are jobs: all else is in `mill.jobs`. */
export interface Outboxes {
  /**
   * The keys that a dead message halts, of one outbox or of all; at most 1 000.
   *
   * @example
   * for (const { key, id, waiting } of await mill.outboxes.halted(webhooks)) {
   *   console.log(`${key}: ${waiting} wait for ${id}`)
   * }
   */
  halted(outbox?: OutboxDefinition | string): Promise<readonly HaltedKey[]>
  /**
   * Lets a halted key go on without its dead message, which stays dead; a redrive brings it back to
   * its place, before those that still wait. Resolves to the message that was passed over, or null
   * where the key is not halted. Throws `InvalidNameError`.
   *
   * @example
   * await mill.outboxes.skip(webhooks, 'order-7')
   */
  skip(outbox: OutboxDefinition | string, key: string): Promise<{ readonly id: string } | null>
}

export interface OutboxesOptions {
  readonly runner: () => Runner
  readonly hintUntil: () => string
}

const MOST_HALTED = 1_000

export function outboxesOf({ runner, hintUntil }: OutboxesOptions): Outboxes {
  return {
    async halted(outbox) {
      const name = outbox === undefined ? null : nameOf(outbox)
      const rows = await runner().run(haltedKeys, { outbox: name, most: MOST_HALTED })
      return rows.map(({ dead_since: since, ...row }) => ({ ...row, deadSince: dateFrom(since) }))
    },
    async skip(outbox, key) {
      const place = { outbox: nameOf(outbox), key: checkKey('key', key) }
      const [row] = await runner().run(skipHalted, { ...place, hint_until: hintUntil() })
      return row ?? null
    },
  }
}

function nameOf(outbox: OutboxDefinition | string): string {
  return typeof outbox === 'string' ? checkName('outbox', outbox) : outboxSource(outbox).kind.name
}
