import type { Count, QueueStats, Stats } from '../index.ts'
import { table } from './output.ts'
import type { Cell } from './output.ts'

/** Stats as people read them: a line for each queue and kind, the total, the workers. */
export function statsText({ at, total, queues, workers }: Stats): string {
  const rows = queues.map((each) => [each.queue, each.kind, ...cells(each, at)])
  const { alive, slots, busy } = workers
  return [
    table(HEAD, [...rows, ['total', '', ...cells(total, at)]]),
    `${alive} ${alive === 1 ? 'worker' : 'workers'}, ${busy} of ${slots} slots busy`,
  ].join('\n')
}

const HEAD = [
  'queue',
  'kind',
  'due',
  'oldest',
  'scheduled',
  'retrying',
  'paused',
  'running',
  'dead',
  'enqueued/min',
  'completed/min',
  'failed/min',
]

function cells(stats: Stats['total'] | QueueStats, at: Date): readonly Cell[] {
  const { due, scheduled, retrying, paused, running, dead, oldestDueAt, perMinute } = stats
  return [
    countText(due),
    oldestDueAt === null ? null : ageText(at.getTime() - oldestDueAt.getTime()),
    countText(scheduled),
    countText(retrying),
    countText(paused),
    running,
    countText(dead),
    perMinute.enqueued,
    perMinute.completed,
    perMinute.failed,
  ]
}

function countText({ value, exact }: Count): string {
  return exact ? String(value) : `${value}+`
}

function ageText(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1_000))
  if (seconds < 120) return `${seconds} s`
  if (seconds < 7_200) return `${Math.round(seconds / 60)} min`
  return `${Math.round(seconds / 3_600)} h`
}
