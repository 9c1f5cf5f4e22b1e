import { MultiBar, Presets } from 'cli-progress'
import type { Output } from '../output.ts'
import type { States } from './states.ts'

/** Shows how far the demo is: a bar on a terminal, now and then a line elsewhere, nothing with `--json`. */
export interface Progress {
  show(arrived: number, states: States): void
  /** A line beside it. */
  say(line: string): void
  end(): void
}

export function progressFor(output: Output, total: number): Progress {
  if (output.isJson) return SILENT
  return process.stderr.isTTY ? barOf(total) : linesOf(output, total)
}

/** Of a demo that nobody watches. */
export const SILENT: Progress = {
  show: () => undefined,
  say: () => undefined,
  end: () => undefined,
}

function barOf(total: number): Progress {
  // A bar by itself would be torn by lines between it; this one has a place for them above.
  const bars = new MultiBar(
    {
      format: '  {bar} {value}/{total}  {facts}',
      barsize: 32,
      hideCursor: true,
      gracefulExit: false,
      emptyOnZero: true,
    },
    Presets.shades_classic,
  )
  const bar = bars.create(total, 0, { facts: '' })
  return {
    show: (arrived, states) => bar.update(ended(states), { facts: factsText(arrived, states) }),
    say: (line) => bars.log(`  ${line}\n`),
    end: () => bars.stop(),
  }
}

const LINES = 4

function linesOf(output: Output, total: number): Progress {
  let printed = -1
  return {
    show(arrived, states) {
      const share = Math.floor((LINES * ended(states)) / total)
      if (share <= printed) return
      printed = share
      output.remark(`  ${ended(states)}/${total} ended, ${factsText(arrived, states)}`)
    },
    say: (line) => output.remark(`  ${line}`),
    end: () => undefined,
  }
}

function ended({ completed, dead }: States): number {
  return completed + dead
}

function factsText(arrived: number, { waiting, running, retrying, dead }: States): string {
  const counts = { arrived, waiting, running, retrying, dead }
  return Object.entries(counts)
    .map(([name, count]) => `${count} ${name}`)
    .join(', ')
}
