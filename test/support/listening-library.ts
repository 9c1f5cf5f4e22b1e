import type { Engine, ListenHandlers, Listening, Session } from '../../src/database/database.ts'

/** A database library whose connections the test makes and breaks. */
export interface Library {
  readonly engine: Engine
  /** Listening connections asked for so far. */
  readonly attempts: number
  /** Those that are open. */
  readonly open: number
  refuse(error: Error | undefined): void
  /** Delivers nothing from now on, as a pooler does. */
  isDeaf: boolean
  isHalfOpen: boolean
  lose(): void
  notify(payload: string): void
}

const nothing = async () => {}
const MORE_CHANNELS = { add: nothing, remove: nothing }

export function listeningLibrary(): Library {
  const live = new Set<ListenHandlers>()
  let attempts = 0
  let refusal: Error | undefined
  const notify = (payload: string) => {
    if (!self.isDeaf) for (const handlers of live) handlers.onNotification(payload)
  }
  const listening = (handlers: ListenHandlers): Listening => {
    const close = async () => void live.delete(handlers)
    return {
      close,
      [Symbol.asyncDispose]: close,
      ...MORE_CHANNELS,
      async ping() {
        if (!self.isHalfOpen) return
        live.delete(handlers)
        handlers.onLost(new Error('no answer'))
        throw new Error('no answer')
      },
    }
  }
  const prover: Session = {
    query: async () => {
      notify('proof')
      return []
    },
    execute: nothing,
    transaction: () => Promise.reject(new Error('not here')),
    isLost: false,
    wentSilent: false,
    giveUp: () => undefined,
    close: nothing,
    [Symbol.asyncDispose]: nothing,
  }
  const engine: Engine = {
    driver: 'node-postgres',
    isSingleConnection: false,
    connect: async () => prover,
    listen: async (_channel, handlers) => {
      attempts += 1
      if (refusal !== undefined) throw refusal
      live.add(handlers)
      return listening(handlers)
    },
    close: nothing,
    [Symbol.asyncDispose]: nothing,
  }
  const self: Library = {
    engine,
    get attempts() {
      return attempts
    },
    get open() {
      return live.size
    },
    refuse: (error) => {
      refusal = error
    },
    isDeaf: false,
    isHalfOpen: false,
    lose: () => {
      for (const handlers of Array.from(live)) {
        live.delete(handlers)
        handlers.onLost(new Error('lost'))
      }
    },
    notify,
  }
  return self
}
