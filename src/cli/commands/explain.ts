import type { Command } from 'commander'
import type { ExplainReport } from '../../index.ts'
import { DONE } from '../exit-code.ts'
import { runReading } from '../run-command.ts'

export function addExplainCommand(group: Command): void {
  group
    .command('explain')
    .description('say why a job is not running; exits 1 when there is none of that id')
    .argument('<id>')
    .action((id: string, _options: object, command: Command) =>
      runReading(command, async (mill, { output }) => {
        const report = await mill.jobs.explain(id)
        output.document(report, () => explainText(report))
        return DONE
      }),
    )
}

/** The sentence, and below it the other reasons by their code and facts. */
function explainText({ summary, reasons }: ExplainReport): string {
  const others = reasons.slice(1).map(({ code, ...facts }) => `${code} ${JSON.stringify(facts)}`)
  return [summary, ...others.map((each) => `  also: ${each}`)].join('\n')
}
