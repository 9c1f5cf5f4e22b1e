import { createHash } from 'node:crypto'
import { checkName } from '../core/names.ts'
import type { Namespace } from '../database/namespace.ts'

/**
 * The notification channel behind a channel of a namespace. Hashed: PostgreSQL's names hold 63 bytes
 * and are one for the whole database, ours hold 200 and are a namespace's own. U+0000 parts what is
 * hashed, since none of it can hold one; the namespace's own channel is made of two parts.
 * Throws `InvalidNameError`.
 */
export function channelName({ schema, prefix }: Namespace, channel: unknown): string {
  const parts = [schema, prefix, checkName('channel', channel)]
  return `millrace_${createHash('sha256').update(parts.join('\0')).digest('hex').slice(0, 32)}`
}
