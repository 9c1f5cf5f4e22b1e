import type { Ear } from '../database/ears.ts'
import { UnheardError } from '../database/wakeups.ts'
import { ClosedError, DatabaseError } from '../errors.ts'

/**
 * What was said on a channel, or that something may have been missed: the connection was lost and is
 * back, or the reader fell 1 000 messages behind. Whoever keeps anything by messages looks at it anew.
 */
export type ChannelMessage =
  | { readonly type: 'message'; readonly payload: string }
  | { readonly type: 'resync' }

/**
 * Hears one channel, from the call of `listen` on. Messages wait in memory until they are read, the
 * newest 1 000 of them: of older ones a `resync` is what remains.
 */
export interface Listener extends AsyncIterable<ChannelMessage>, AsyncDisposable {
  /**
   * Resolves when the server hears for us: what is said later arrives. Waits for as long as the
   * database is away; rejects with `DatabaseError` behind a pooler where nothing can ever arrive, and
   * with `ClosedError` when the listener or its client was closed.
   */
  ready(): Promise<void>
  /** Hears no more; an iteration under way ends once it has read what had arrived. */
  close(): Promise<void>
}

/** Takes the ear off the channel. */
type Hear = (ear: Ear) => () => void

export interface ListenerOptions {
  readonly hear: Hear
  /** Ends the iteration, without an error. */
  readonly signal: AbortSignal | undefined
  readonly onClosed: () => void
}

export function listener(options: ListenerOptions): ChannelListener {
  return new ChannelListener(options)
}

const MOST_UNREAD = 1_000
const RESYNC: ChannelMessage = { type: 'resync' }

class ChannelListener implements Listener, Ear {
  readonly #stopHearing: () => void
  readonly #onClosed: () => void
  readonly #signal: AbortSignal | undefined
  readonly #waiting = new Set<() => void>()
  #unread: ChannelMessage[] = []
  #hasBegun = false
  #isInterrupted = false
  #isClosed = false
  #failure: DatabaseError | undefined

  constructor({ hear, signal, onClosed }: ListenerOptions) {
    this.#onClosed = onClosed
    this.#signal = signal
    this.#stopHearing = hear(this)
    signal?.addEventListener('abort', this.#close, { once: true })
  }

  onPayload(payload: string): void {
    this.#add({ type: 'message', payload })
  }

  onBegin(): void {
    const isBack = this.#hasBegun && this.#isInterrupted
    this.#hasBegun = true
    this.#isInterrupted = false
    if (isBack) this.#add(RESYNC)
    this.#wake()
  }

  onProblem(problem: unknown): void {
    this.#isInterrupted = true
    if (!(problem instanceof UnheardError)) return
    this.#failure = unheard(problem)
    this.#wake()
  }

  async ready(): Promise<void> {
    while (!this.#isHearing) {
      if (this.#failure !== undefined) throw this.#failure
      if (this.#isClosed) throw new ClosedError('this listener')
      await this.#change()
    }
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<ChannelMessage, void> {
    try {
      for (;;) {
        if (this.#signal?.aborted === true) return
        const next = this.#unread.shift()
        if (next !== undefined) yield next
        else if (this.#isClosed) return
        else if (this.#failure !== undefined) throw this.#failure
        else await this.#change()
      }
    } finally {
      this.#close()
    }
  }

  close(): Promise<void> {
    this.#close()
    return Promise.resolve()
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  get #isHearing(): boolean {
    return this.#hasBegun && !this.#isInterrupted && !this.#isClosed
  }

  // A second resync beside the first would say nothing more; the oldest give way to one.
  #add(message: ChannelMessage): void {
    if (message.type === 'resync' && this.#unread.at(-1)?.type === 'resync') return
    this.#unread.push(message)
    if (this.#unread.length > MOST_UNREAD) this.#unread.splice(0, 2, RESYNC)
    this.#wake()
  }

  readonly #close = (): void => {
    if (this.#isClosed) return
    this.#isClosed = true
    this.#stopHearing()
    this.#signal?.removeEventListener('abort', this.#close)
    this.#onClosed()
    this.#wake()
  }

  #change(): Promise<void> {
    return new Promise((resolve) => void this.#waiting.add(resolve))
  }

  #wake(): void {
    for (const resolve of this.#waiting) resolve()
    this.#waiting.clear()
  }
}

function unheard(cause: UnheardError): DatabaseError {
  return new DatabaseError(
    'mill.listen() hears nothing here: LISTEN succeeds but no notification arrives, as behind a pooler in transaction mode. Connect to the server itself.',
    { sqlstate: null, statement: 'listen', retryable: false, outcomeUnknown: false },
    { cause },
  )
}
