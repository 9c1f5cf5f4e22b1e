import { noticeChannel } from '../../src/core/telemetry.ts'

/** What the clients of a schema had to tell an operator, in order. */
export interface Notices extends Disposable {
  readonly messages: readonly string[]
  /** The facts of each, in the same order. */
  readonly facts: readonly Readonly<Record<string, unknown>>[]
}

export function notices(schema: string): Notices {
  const messages: string[] = []
  const facts: Readonly<Record<string, unknown>>[] = []
  const listener = (told: unknown): void => {
    if (!isNotice(told) || told.origin.schema !== schema) return
    messages.push(told.message)
    facts.push(told.facts)
  }
  noticeChannel.subscribe(listener)
  return {
    messages,
    facts,
    [Symbol.dispose]() {
      noticeChannel.unsubscribe(listener)
    },
  }
}

interface NoticeOf {
  readonly origin: { readonly schema: string }
  readonly message: string
  readonly facts: Readonly<Record<string, unknown>>
}

function isNotice(told: unknown): told is NoticeOf {
  return typeof told === 'object' && told !== null && 'origin' in told && 'message' in told
}
