import { parseArgs } from 'node:util'

export const USAGE = `usage: npm run torture -- [scenario …] [options]

processes (default): workers and producers as processes of their own, struck in every way

  --minutes <n>     how long to strike (5)
  --seed <n>        what happens, in which order (of the clock)
  --workers <n>     worker processes (3)
  --rate <n>        jobs a second (300)
  --lease <ms>      how long a lease lasts (3000)

lifecycle: one act after another on a mill and on a model of it, compared after each

  --sequences <n>   how many (2000)
  --seed <n>        what is drawn (of the clock)

transaction: processes killed between an effect and the commit of run.transaction

  --kills <n>       how many (1000)
  --workers <n>     processes at the same time (3)
  --seed <n>        when (of the clock)

schedules: a virtual day of schedules, ten workers in five processes that are killed

  --hours <n>       how much of it (24)
  --kills <n>       how many (60)
  --seed <n>        when (of the clock)

streams: ten publishers whose transactions commit in any order, and six consumers killed at random

  --minutes <n>     how long (5)
  --seed <n>        what happens (of the clock)

outbox: eight senders whose transactions commit in any order, and workers killed at random

  --minutes <n>     how long (2)
  --workers <n>     processes (4)
  --seed <n>        what happens (of the clock)

migrations: from each earlier version of the tables, while workers of that version are at work

  --workers <n>     processes of each version, and as many producers less one (3)
  --rate <n>        jobs a second of each producer (500)
  --jobs <n>        ended before, and by each version beside the other (5000)
  --lease <ms>      how long a lease lasts (3000)
  --seed <n>        what is asked for (of the clock)

failover: a primary and a synchronous standby under one URL, killed and promoted in turn, under load

  --kills <n>       how many (5)
  --lease <ms>      how long a lease lasts (3000)
  --seed <n>        what is asked (of the clock)
  --hang            the primary is stopped, as a host that is gone without a word
  --control         the standby is asynchronous and lags: what was acknowledged must be found lost

chaos: processes killed and stopped, networks cut and slow, the server restarted, read-only, full or
slow, clocks wrong, all at the same time; what may come of it is checked, and how soon work goes on

  --minutes <n>     how long (10)
  --workers <n>     worker processes, beside two producers (3)
  --seed <n>        what happens, in which order (of the clock)

backlog: what a claim costs beside millions of rows that it has no use for, to an almost empty database

  --jobs <n>        ready, due later in better levels, and finished, each; a fifth of unknown kinds (1000000)
  --steps <n>       claims for each variant (100)
  --slots <n>       rows a claim (50)

snapshot: a fixed rate beside a transaction that is held open, to the same rate without

  --minutes <n>     how long it is held (20)
  --baseline <n>    minutes without it, before (3)
  --every <s>       seconds between two lines (60)
  --rate <n>        jobs a second (the share of what is measured to be the most)
  --share <n>       that share (0.6)
  --slots <n>       of the worker (100)
  --control         the same load at the same time on a database without it, and compared with it:
                    for machines that others use, too

scale: several worker processes draining a backlog, to one

  --jobs <n>        in each drain (60000)
  --rounds <n>      of both crews (5)
  --workers <n>     processes of the larger crew (4)
  --slots <n>       of each process (100)

Exits 1 when something was lost, doubled or run twice at once, or a gate failed.
`

const OPTIONS = {
  help: { type: 'boolean', default: false },
  control: { type: 'boolean', default: false },
  hang: { type: 'boolean', default: false },
  minutes: { type: 'string' },
  seed: { type: 'string' },
  workers: { type: 'string' },
  rate: { type: 'string' },
  lease: { type: 'string' },
  sequences: { type: 'string' },
  kills: { type: 'string' },
  hours: { type: 'string' },
  jobs: { type: 'string' },
  steps: { type: 'string' },
  slots: { type: 'string' },
  baseline: { type: 'string' },
  every: { type: 'string' },
  share: { type: 'string' },
  rounds: { type: 'string' },
} as const

/** An option that is a number from 0 up; what it stands for without being given is the scenario's. */
export type NumberOption = Exclude<keyof typeof OPTIONS, 'help' | 'control' | 'hang'>

export interface TortureWords {
  /** In the order given. */
  readonly scenarios: readonly string[]
  readonly isHelp: boolean
  readonly hasControl: boolean
  readonly isHung: boolean
  number<Fallback>(option: NumberOption, fallback: Fallback): number | Fallback
}

/** Throws for an option that is unknown or no number. */
export function tortureWords(words: readonly string[]): TortureWords {
  const { values, positionals } = parseArgs({
    args: [...words],
    allowPositionals: true,
    options: OPTIONS,
  })
  return {
    scenarios: positionals.length === 0 ? ['processes'] : positionals,
    isHelp: values.help,
    hasControl: values.control,
    isHung: values.hang,
    number(option, fallback) {
      const word = values[option]
      return word === undefined ? fallback : numberOf(option, word)
    },
  }
}

function numberOf(option: NumberOption, word: string): number {
  const value = Number(word)
  if (Number.isFinite(value) && value >= 0) return value
  throw new RangeError(`--${option} got "${word}": give a number from 0 up`)
}
