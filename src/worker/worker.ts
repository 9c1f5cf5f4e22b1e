import type { Duration } from '../core/duration.ts'
import { milliseconds } from '../core/duration.ts'
import type { OutboxDefinition } from '../core/message-producer.ts'
import { ClosedError, InvalidOptionError } from '../errors.ts'
import type { JobKind, NameOf } from '../jobs/kind.ts'
import type { Deliver } from './deliver.ts'
import { deliveredKind, handledKind, handledKindsOf, withHandler } from './handlers.ts'
import type { HandledKind, HandlerOptions, Handlers, Once } from './handlers.ts'
import { checkWorkerOptions, setupOf } from './options.ts'
import type { CheckedWorkerOptions, WorkerOptions } from './options.ts'
import { startWorking } from './working.ts'
import type { WorkerContext, Working } from './working.ts'

/**
 * Claims jobs of the kinds it has handlers for, and runs them.
 *
 * @example
 * const worker = mill.worker({ concurrency: 20 }).use(mailHandlers)
 * await worker.run({ signal: shutdownSignal() })   // resolves once everything has ended
 */
export interface Worker<Names extends string = never> extends AsyncDisposable {
  /** `host:pid:random`: who holds the leases. */
  readonly id: string
  /** Adds the handler of a kind; the same kind twice is an `UnknownKindError`. Before `start` only. */
  handle<K extends JobKind>(
    kind: K,
    handler: Once<K, Names>,
    options?: HandlerOptions,
  ): Worker<Names | NameOf<K>>
  /**
   * Adds what delivers the messages of an outbox: those of one key one after another, those of
   * different keys at once. The same outbox twice is an `UnknownKindError`. Before `start` only.
   *
   * @example
   * worker.deliver(webhooks, async (message, { id, signal }) => {
   *   const headers = { 'content-type': 'application/json', 'idempotency-key': id }
   *   const answer = await fetch(url, { method: 'POST', headers, body: JSON.stringify(message), signal })
   *   if (!answer.ok) throw new Error(`the receiver answered ${answer.status}`)
   * })
   */
  deliver<O extends OutboxDefinition>(
    outbox: O,
    deliver: Deliver<O>,
    options?: HandlerOptions,
  ): Worker<Names | O['name']>
  /** Adds handlers made elsewhere. Before `start` only. */
  use(...handlers: readonly Handlers<string>[]): this
  /** Starts claiming; a second call is the same start. */
  start(): Promise<void>
  /**
   * Claims nothing more, aborts the runs' signals with `ShutdownError`, lets them end for `grace`
   * (30 s) and hands the rest back without a failure. A second call ends the grace at once.
   */
  stop(options?: { grace?: Duration | undefined }): Promise<void>
  /** `start`, then `stop` when the signal aborts; resolves when everything has ended. */
  run(options?: { signal?: AbortSignal | undefined }): Promise<void>
}

export interface WorkerParts {
  readonly id: string
  readonly context: () => WorkerContext
  readonly options: WorkerOptions
  readonly onStopped: () => void
}

export function makeWorker(parts: WorkerParts): Worker {
  return new JobWorker(parts)
}

class JobWorker implements Worker<string> {
  readonly id: string
  readonly #parts: WorkerParts
  readonly #options: CheckedWorkerOptions
  #kinds: ReadonlyMap<string, HandledKind> = new Map()
  #working: Working | undefined
  #stopping: Promise<void> | undefined
  #ended: () => void = () => undefined
  readonly #end: Promise<void>

  constructor(parts: WorkerParts) {
    this.id = parts.id
    this.#parts = parts
    this.#options = checkWorkerOptions(parts.options)
    this.#end = new Promise((resolve) => {
      this.#ended = resolve
    })
  }

  handle(kind: JobKind, handler: unknown, options?: HandlerOptions): this {
    this.#add(handledKind(kind, handler, options))
    return this
  }

  deliver(outbox: OutboxDefinition, deliver: unknown, options?: HandlerOptions): this {
    this.#add(deliveredKind(outbox, deliver, options))
    return this
  }

  use(...handlers: readonly Handlers<string>[]): this {
    for (const each of handlers) {
      for (const handled of handledKindsOf(each).values()) this.#add(handled)
    }
    return this
  }

  async start(): Promise<void> {
    if (this.#stopping !== undefined) throw new ClosedError('this worker')
    if (this.#kinds.size === 0) {
      throw new InvalidOptionError(
        'handlers',
        'none',
        'give the worker one with handle() or use() before start()',
      )
    }
    this.#working ??= startWorking(
      this.id,
      setupOf(this.#options, this.#kinds),
      this.#parts.context(),
    )
  }

  stop(options: { grace?: Duration | undefined } = {}): Promise<void> {
    const { grace } = options
    const graceMs =
      grace === undefined ? this.#options.graceMs : milliseconds('grace', grace, { zero: true })
    if (this.#stopping === undefined) this.#stopping = this.#stop(graceMs)
    else this.#working?.hasten()
    return this.#stopping
  }

  async run({ signal }: { signal?: AbortSignal | undefined } = {}): Promise<void> {
    if (signal?.aborted === true) return this.stop()
    const stop = (): void => {
      // Its outcome is the one that is awaited below.
      void this.stop()
    }
    signal?.addEventListener('abort', stop, { once: true })
    try {
      await this.start()
      await this.#end
      await this.#stopping
    } finally {
      signal?.removeEventListener('abort', stop)
    }
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop()
  }

  async #stop(graceMs: number): Promise<void> {
    try {
      await this.#working?.stop(graceMs)
    } finally {
      this.#parts.onStopped()
      this.#ended()
    }
  }

  #add(handled: HandledKind): void {
    if (this.#working !== undefined) {
      throw new InvalidOptionError(
        'handler',
        handled.kind.name,
        'the worker has started. Add handlers before start()',
      )
    }
    this.#kinds = withHandler(this.#kinds, handled)
  }
}
