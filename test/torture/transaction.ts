import { startServer } from '../support/postgres-server.ts'
import { killTransactions } from './transaction-kills.ts'
import type { KillOptions, KillReport } from './transaction-kills.ts'

/** `npm run torture -- transaction`, on a server of its own. */
export async function transaction(options: KillOptions): Promise<KillReport> {
  const server = await startServer({ settings: { max_connections: '200' } })
  try {
    return await killTransactions(await server.createDatabase('torture'), options)
  } finally {
    await server.close()
  }
}

/** Counts for people. */
export function killsText(report: KillReport): string {
  const { kills, inBetween, jobs, completed, recovered, effects, violations } = report
  return [
    `kills           ${kills}`,
    `hit in between  ${inBetween} runs had written and not committed, as far as they told`,
    `jobs            ${jobs}: ${completed} completed`,
    `recovered       ${recovered} runs of killed processes`,
    `effects         ${effects}`,
    `violations      ${violations.length}`,
    ...violations.slice(0, 20).map((violation) => `  ${violation}`),
  ].join('\n')
}

/** Nothing missing, nothing doubled. */
export function isClean({ jobs, completed, effects, violations }: KillReport): boolean {
  return violations.length === 0 && completed === jobs && effects === jobs
}
