import type { Listening } from './database.ts'

/**
 * Channels beside the namespace's own, on the same listening connection: as many listeners as there
 * are share one LISTEN for each channel, and one connection for all. What is said while there is no
 * connection goes unheard; each ear is told when hearing begins, and begins again.
 */
export interface Ears {
  /** From now on, until the function it answers is called. */
  add(channel: string, ear: Ear): () => void
  /** A connection that is known to hear; `onFailure` gives it up. */
  begin(listening: Listening, onFailure: (error: unknown) => void): void
  /** It is gone, or there is none, and why. */
  end(problem: unknown): void
  clear(): void
}

/** None of them may throw. */
export interface Ear {
  onPayload(payload: string): void
  /** Heard from now on; said before now, anything may have gone unheard. */
  onBegin(): void
  /** There is no connection at present; it is tried again. */
  onProblem(problem: unknown): void
}

interface Connection {
  readonly listening: Listening
  readonly onFailure: (error: unknown) => void
  /** Those of which LISTEN was answered. */
  readonly heard: Set<string>
}

export function ears(): Ears {
  const channels = new Map<string, Set<Ear>>()
  let current: Connection | undefined

  function attach(channel: string, connection: Connection): void {
    const { listening, heard, onFailure } = connection
    const say = (payload: string): void => {
      for (const ear of channels.get(channel) ?? []) ear.onPayload(payload)
    }
    const begin = (): void => {
      if (current !== connection) return
      heard.add(channel)
      for (const ear of channels.get(channel) ?? []) ear.onBegin()
    }
    listening.add(channel, say).then(begin, onFailure)
  }

  function detach(channel: string): void {
    channels.delete(channel)
    if (current === undefined) return
    current.heard.delete(channel)
    // Where it fails the connection is gone, which its owner is told.
    current.listening.remove(channel).catch(() => undefined)
  }

  return {
    add(channel, ear) {
      const others = channels.get(channel)
      if (others === undefined) channels.set(channel, new Set([ear]))
      else others.add(ear)
      if (current !== undefined && others === undefined) attach(channel, current)
      else if (current?.heard.has(channel) === true) ear.onBegin()
      return () => {
        const left = channels.get(channel)
        if (left?.delete(ear) === true && left.size === 0) detach(channel)
      }
    },
    begin(listening, onFailure) {
      current = { listening, onFailure, heard: new Set() }
      for (const channel of channels.keys()) attach(channel, current)
    },
    end(problem) {
      current = undefined
      for (const each of channels.values()) for (const ear of each) ear.onProblem(problem)
    },
    clear: () => channels.clear(),
  }
}
