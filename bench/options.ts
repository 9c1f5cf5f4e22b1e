import { parseArgs } from 'node:util'

export interface BenchOptions {
  /** How many jobs a drain has; the other phases scale with it. */
  readonly jobs: number
  /** A drain for each. */
  readonly concurrency: readonly number[]
  /** How often everything is measured; the block shows medians. */
  readonly rounds: number
  /** The phases to run; the others are left out of the block. */
  readonly only: readonly string[]
  readonly json: boolean
  /** Streams beside bare SQL, in place of the phases of jobs. */
  readonly isStreams: boolean
}

export const USAGE = `usage: npm run bench -- [options]
       npm run bench -- streams [--jobs <events>] [--rounds <n>]

  --jobs <n>              jobs in a drain (100000)
  --concurrency <n,n>     a drain for each (10,100)
  --rounds <n>            measure everything n times and show the medians (1)
  --only <phase,phase>    of memory, drain, enqueue, latency (all)
  --json                  every round as one JSON document
`

export function benchOptions(words: readonly string[]): BenchOptions {
  const { values, positionals } = parseArgs({
    args: [...words],
    allowPositionals: true,
    options: {
      jobs: { type: 'string', default: '100000' },
      concurrency: { type: 'string', default: '10,100' },
      rounds: { type: 'string', default: '1' },
      only: { type: 'string', default: 'memory,drain,enqueue,latency' },
      json: { type: 'boolean', default: false },
    },
  })
  return {
    jobs: count('--jobs', values.jobs),
    concurrency: values.concurrency.split(',').map((word) => count('--concurrency', word)),
    rounds: count('--rounds', values.rounds),
    only: values.only.split(',').map(phase),
    json: values.json,
    isStreams: isStreams(positionals),
  }
}

function isStreams(positionals: readonly string[]): boolean {
  const [word, ...more] = positionals
  if (word === undefined) return false
  if (word === 'streams' && more.length === 0) return true
  throw new RangeError(`"${positionals.join(' ')}" is no bench: leave it out, or say streams`)
}

function count(option: string, word: string): number {
  const value = Number(word)
  if (Number.isInteger(value) && value > 0) return value
  throw new RangeError(`${option} got "${word}": give a whole number from 1 up`)
}

const PHASES = ['memory', 'drain', 'enqueue', 'latency']

function phase(word: string): string {
  if (PHASES.includes(word)) return word
  throw new RangeError(`--only got "${word}": name one of ${PHASES.join(', ')}`)
}
