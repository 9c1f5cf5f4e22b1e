import { Presets, SingleBar } from 'cli-progress'
import type { Output } from '../output.ts'
import type { States } from './states.ts'

/** Shows how far the demo is: a bar on a terminal, now and then a line elsewhere, nothing with `--json`. */
export interface Progress {
  show(arrived: number, states: States): void
  end(): void
}

export function progressFor(output: Output, total: number): Progress {
  if (output.isJson) return { show: () => undefined, end: () => undefined }
  return process.stderr.isTTY ? barOf(total) : linesOf(output, total)
}

function barOf(total: number): Progress {
  const bar = new SingleBar(
    {
      format: '  {bar} {value}/{total}  {facts}',
      barsize: 32,
      hideCursor: true,
      gracefulExit: false,
      emptyOnZero: true,
    },
    Presets.shades_classic,
  )
  bar.start(total, 0, { facts: '' })
  return {
    show: (arrived, states) => bar.update(ended(states), { facts: factsText(arrived, states) }),
    end: () => bar.stop(),
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
