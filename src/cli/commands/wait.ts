import type { Command } from 'commander'
import { duration } from '../../index.ts'
import { DONE, NO } from '../exit-code.ts'
import { jobFacts } from '../job-text.ts'
import { runWithMill } from '../run-command.ts'

export function addWaitCommand(group: Command): void {
  group
    .command('wait')
    .description('wait for the end of a job and show it; exits 0 only when it completed')
    .argument('<id>')
    .option('--timeout <duration>', 'how long to wait: 30s, 5m (default: for ever)')
    .action((id: string, given: { readonly timeout?: string }, command: Command) => {
      const timeout = given.timeout === undefined ? undefined : duration(given.timeout)
      return runWithMill(command, async (mill, { output }) => {
        const job = await mill.jobs.wait(id, { timeout })
        output.document(job, () => jobFacts(job))
        return job.state === 'completed' ? DONE : NO
      })
    })
}
