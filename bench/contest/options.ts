import { parseArgs } from 'node:util'
import { SYSTEM_NAMES } from './contenders.ts'
import type { System } from './contenders.ts'

export interface ContestOptions {
  readonly systems: readonly System[]
  readonly parts: readonly Part[]
  /** How many jobs a drain has; enqueueing scales with it. */
  readonly jobs: number
  readonly rounds: number
  /** How long the steady load and the held snapshot last. */
  readonly minutes: number
  /** Jobs a second of the steady load; null: a share of what each contender can do. */
  readonly rate: number | null
  readonly backlog: number
  readonly idleSeconds: number
  readonly json: boolean
}

/** What can be asked for with --only. */
export type Part =
  | 'enqueue'
  | 'drain'
  | 'lean'
  | 'defaults'
  | 'latency'
  | 'steady'
  | 'backlog'
  | 'snapshot'
  | 'idle'

export const PARTS: readonly Part[] = [
  'enqueue',
  'drain',
  'lean',
  'defaults',
  'latency',
  'steady',
  'backlog',
  'snapshot',
  'idle',
]
const LIMIT_PARTS: readonly Part[] = ['enqueue', 'drain', 'latency']

export const CONTEST_USAGE: string = `usage: npm run bench -- peers [options]    against graphile-worker, pg-boss and BullMQ
       npm run bench -- limit [options]    against a bare loop over the same statements

  --peers <name,name>     of ${SYSTEM_NAMES.join(', ')}
  --only <part,part>      of ${PARTS.join(', ')}
                          (all; limit: ${LIMIT_PARTS.join(', ')})
  --jobs <n>              jobs in a drain (100000); below that batches of 5000 blur the rates
  --rounds <n>            of enqueue, drain, lean, defaults, latency; medians are shown (5)
  --minutes <n>           how long steady and snapshot last, once each (5)
  --rate <n>              jobs a second of these two (70 % of what each contender can do)
  --backlog <n>           jobs that wait in backlog (1000000)
  --idle-seconds <n>      how long idle workers are watched (60)
  --json                  every sample as one JSON document

Everything, with the peers, takes about two hours; --only drain,latency --rounds 3 a quarter.
`

/** `limit` asks for other systems and parts than `peers`, where nothing else is said. */
export function contestOptions(
  command: 'peers' | 'limit',
  words: readonly string[],
): ContestOptions {
  const isLimit = command === 'limit'
  const systems = isLimit ? ['millrace', 'bare-loop'] : SYSTEM_NAMES.slice(0, -1)
  const { values } = parseArgs({
    args: [...words],
    options: {
      peers: { type: 'string', default: systems.join(',') },
      only: { type: 'string', default: (isLimit ? LIMIT_PARTS : PARTS).join(',') },
      jobs: { type: 'string', default: '100000' },
      rounds: { type: 'string', default: '5' },
      minutes: { type: 'string', default: '5' },
      rate: { type: 'string' },
      backlog: { type: 'string', default: '1000000' },
      'idle-seconds': { type: 'string', default: '60' },
      json: { type: 'boolean', default: false },
    },
  })
  return {
    systems: list('--peers', values.peers, SYSTEM_NAMES),
    parts: list('--only', values.only, PARTS),
    jobs: count('--jobs', values.jobs),
    rounds: count('--rounds', values.rounds),
    minutes: positive('--minutes', values.minutes),
    rate: values.rate === undefined ? null : count('--rate', values.rate),
    backlog: count('--backlog', values.backlog),
    idleSeconds: positive('--idle-seconds', values['idle-seconds']),
    json: values.json,
  }
}

function list<Word extends string>(
  option: string,
  text: string,
  known: readonly Word[],
): readonly Word[] {
  return text.split(',').map((word) => {
    const found = known.find((each) => each === word)
    if (found !== undefined) return found
    throw new RangeError(`${option} got "${word}": take from ${known.join(', ')}`)
  })
}

function count(option: string, word: string): number {
  const value = Number(word)
  if (Number.isInteger(value) && value > 0) return value
  throw new RangeError(`${option} got "${word}": give a whole number from 1 up`)
}

function positive(option: string, word: string): number {
  const value = Number(word)
  if (Number.isFinite(value) && value > 0) return value
  throw new RangeError(`${option} got "${word}": give a number above 0`)
}
