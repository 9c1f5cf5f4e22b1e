import { instantText } from '../core/instant-text.ts'
import type { Ask } from './ask.ts'
import type { AlikeParams } from './enqueue-statements.ts'

/** What all these asks say where only their ids and payloads differ; null: they differ in more. */
export function whatAllSay(asks: readonly Ask[]): WhatAllSay | null {
  const [first] = asks
  if (first === undefined || !asks.every((ask) => isLike(ask, first))) return null
  return {
    kind: first.kind,
    queue: first.queue,
    priority: first.priority,
    options: first.policyText,
    lease_ms: first.leaseMs,
    delay_ms: first.delayMs,
    due_at: first.at === null ? null : instantText(first.at),
    expires_after_ms: first.expiresAfterMs,
    expires_at: first.expiresAt === null ? null : instantText(first.expiresAt),
  }
}

export type WhatAllSay = Omit<AlikeParams, 'asks' | 'hint_until' | 'now'>

function isLike(one: Ask, other: Ask): boolean {
  return (
    one.kind === other.kind &&
    one.queue === other.queue &&
    one.priority === other.priority &&
    one.policyText === other.policyText &&
    one.leaseMs === other.leaseMs &&
    one.delayMs === other.delayMs &&
    one.at === other.at &&
    one.expiresAfterMs === other.expiresAfterMs &&
    one.expiresAt === other.expiresAt
  )
}
