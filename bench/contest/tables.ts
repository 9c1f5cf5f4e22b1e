import type { Environment } from '../environment.ts'
import { contendersIn, medianOf } from './samples.ts'
import type { Figure, Phase, Sample } from './samples.ts'

/** Markdown, a table per phase: medians, and Millrace's best configuration against each line. */
export function tablesText(samples: readonly Sample[]): string {
  return PHASES.flatMap(({ phase, ...layout }) => {
    const names = contendersIn(samples, phase)
    return names.length === 0 ? [] : [tableText(samples, { phase, ...layout }, names)]
  }).join('\n\n')
}

export function environmentText(environment: Environment, lines: readonly string[]): string {
  const { node, postgres, cores, processor, settings } = environment
  const all = Object.entries(settings).map(([name, value]) => `${name}=${value}`)
  return [
    `node ${node}, PostgreSQL ${postgres} over TCP on loopback, ${cores} cores shared by client and server (${processor})`,
    `PostgreSQL: ${all.join(' ')}`,
    ...lines,
  ].join('\n')
}

interface Layout {
  readonly phase: Phase
  readonly title: string
  readonly figures: readonly Figure[]
}

const COST: readonly Figure[] = ['nodeMicros', 'serverMicros', 'walBytes']
const DRAIN: readonly Figure[] = ['rate', ...COST, 'dead', 'rssBytes']
const LOAD: readonly Figure[] = [
  'p50',
  'rate',
  'p99',
  'early',
  'late',
  'backlog',
  'missing',
  ...COST,
  'dead',
  'rssBytes',
]

const PHASES: readonly Layout[] = [
  { phase: 'one by one', title: 'Enqueue one by one, each awaited', figures: ['rate', ...COST] },
  { phase: 'in flight', title: 'Enqueue, 50 concurrent callers', figures: ['rate', ...COST] },
  { phase: 'bulk', title: 'Enqueue in bulk', figures: ['rate', ...COST, 'rssBytes'] },
  { phase: 'drain', title: 'Drain, what completed is kept where it can be', figures: DRAIN },
  { phase: 'drain lean', title: 'Drain, nothing kept', figures: DRAIN },
  { phase: 'drain defaults', title: 'Drain with defaults', figures: DRAIN },
  { phase: 'latency', title: 'Enqueue to handler start, idle worker', figures: ['p50', 'p99'] },
  { phase: 'steady', title: 'Steady load: enqueue to the end of the handler', figures: LOAD },
  { phase: 'backlog', title: 'Drain in front of a backlog', figures: DRAIN },
  {
    phase: 'snapshot',
    title: 'Steady load under a held snapshot: enqueue to the end of the handler',
    figures: LOAD,
  },
  { phase: 'idle', title: 'Idle worker with defaults', figures: ['statements'] },
]

const HEADS: Readonly<Record<Figure, string>> = {
  rate: 'jobs/s',
  p50: 'p50 ms',
  p99: 'p99 ms',
  early: 'p50 first fifth',
  late: 'p50 last fifth',
  backlog: 'waiting at the end',
  missing: 'not run 20 s later',
  nodeMicros: 'node µs/job',
  serverMicros: 'server µs/job',
  walBytes: 'WAL B/job',
  dead: 'dead rows',
  rssBytes: 'RSS MB, peak',
  statements: 'statements/s',
}

function tableText(
  samples: readonly Sample[],
  { phase, title, figures }: Layout,
  names: readonly string[],
): string {
  const [main = 'rate'] = figures
  const ours = names.find((name) => name.startsWith('millrace '))
  const own = ours === undefined ? null : medianOf(samples, { phase, contender: ours }, main)
  const lines = names.map((contender) => {
    const values = figures.map((figure) => medianOf(samples, { phase, contender }, figure))
    const cells = values.map((value, column) => cell(value, figures[column] ?? main))
    return [contender, ...cells, ratioText(own, values[0] ?? null)]
  })
  const heads = ['', ...figures.map((figure) => HEADS[figure]), `${HEADS[main]}: Millrace ÷ this`]
  const rounds = samples.filter((each) => each.phase === phase && each.contender === names[0])
  return [`### ${title} (${countedRounds(rounds.length)})`, '', ...markdown(heads, lines)].join(
    '\n',
  )
}

function countedRounds(count: number): string {
  return count === 1 ? 'one run' : `medians of ${count}`
}

/** Columns as wide as what is in them, so that the source reads as well as the page. */
export function markdown(
  heads: readonly string[],
  lines: readonly (readonly string[])[],
): readonly string[] {
  const widths = heads.map((head, column) =>
    Math.max(head.length, ...lines.map((line) => (line[column] ?? '').length), 3),
  )
  const row = (cells: readonly string[]): string => {
    const padded = cells.map((text, column) => {
      const width = widths[column] ?? 0
      return column === 0 ? text.padEnd(width) : text.padStart(width)
    })
    return `| ${padded.join(' | ')} |`
  }
  const rule = widths.map((width, column) =>
    column === 0 ? '-'.repeat(width) : `${'-'.repeat(width - 1)}:`,
  )
  return [row(heads), row(rule), ...lines.map(row)]
}

export function ratioText(one: number | null, other: number | null): string {
  return one === null || other === null || other === 0 ? '–' : `${(one / other).toFixed(2)} ×`
}

function cell(value: number | null, figure: Figure): string {
  if (value === null) return '–'
  if (figure === 'rssBytes') return (value / 1e6).toFixed(0)
  if (Math.abs(value) < SMALL && !WHOLE.has(figure)) return value.toFixed(FINE.has(figure) ? 2 : 1)
  return Math.round(value).toLocaleString('en-US').replaceAll(',', ' ')
}

const SMALL = 100
const WHOLE: ReadonlySet<Figure> = new Set(['dead', 'backlog', 'missing'])
const FINE: ReadonlySet<Figure> = new Set(['p50', 'p99', 'early', 'late', 'statements'])
