import { setTimeout as pause } from 'node:timers/promises'
import type { ChannelListener } from 'node:diagnostics_channel'
import { statementChannel } from '../../src/core/telemetry.ts'

/** The statements of one client, in the order they were sent, as it publishes them itself. */
export interface Statements extends Disposable {
  readonly names: readonly string[]
  count(name: string): number
  /** Resolves once nothing was sent for a while: whatever runs there sleeps. */
  quiet(ms?: number): Promise<void>
}

export function watchStatements(schema: string): Statements {
  const names: string[] = []
  const listener: ChannelListener = (context) => {
    if (isStatementOf(context, schema)) names.push(context.statement)
  }
  statementChannel.start.subscribe(listener)
  return {
    names,
    count: (name) => names.filter((each) => each === name).length,
    async quiet(ms = 200) {
      for (let seen = -1; seen !== names.length;) {
        seen = names.length
        await pause(ms)
      }
    },
    [Symbol.dispose]() {
      statementChannel.start.unsubscribe(listener)
    },
  }
}

interface StatementOf {
  readonly origin: { readonly schema: string }
  readonly statement: string
}

function isStatementOf(context: unknown, schema: string): context is StatementOf {
  if (typeof context !== 'object' || context === null || !('origin' in context)) return false
  const { origin } = context
  return typeof origin === 'object' && origin !== null && Reflect.get(origin, 'schema') === schema
}
