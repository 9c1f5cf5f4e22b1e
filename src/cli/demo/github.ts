import { setTimeout as sleep } from 'node:timers/promises'

/**
 * What the application asks GitHub while it processes a webhook. The demo needs no network: this
 * one answers from memory, with the habits that make such calls fail at first.
 */
export interface GitHub {
  /**
   * Whether an account still exists. An account that was not asked for yet has to be fetched from
   * behind the cache, and that first call is answered with 503.
   */
  hasAccount(login: string, signal: AbortSignal): Promise<boolean>
  /**
   * Whether a pull request can be merged, as of an event. GitHub computes it in the background, from
   * when it is first asked: until then it does not know, and answers null.
   */
  isMergeable(pull: string, asOf: string, signal: AbortSignal): Promise<boolean | null>
}

export function simulatedGitHub(): GitHub {
  const cached = new Set<string>()
  const computed = new Set<string>()
  return {
    async hasAccount(login, signal) {
      const isFirst = !cached.has(login)
      cached.add(login)
      await latency(login, signal)
      if (isFirst) throw new Error(`GET /users/${login} answered 503`)
      return true
    },
    async isMergeable(pull, asOf, signal) {
      const isFirst = !computed.has(`${pull} ${asOf}`)
      computed.add(`${pull} ${asOf}`)
      await latency(pull, signal)
      return isFirst ? null : true
    },
  }
}

// Some calls take longer than others, the same ones in every demo.
function latency(path: string, signal: AbortSignal): Promise<void> {
  const milliseconds = 3 + ((path.length * 7) % 20)
  return sleep(milliseconds, undefined, { signal })
}
