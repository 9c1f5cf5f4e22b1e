import type { JobEvent, JobEventName, ToldJob } from '../core/job-events.ts'

/** An event as it goes between processes. */
export type SentEvent = Omit<JobEvent, 'origin'>

/** JSON, with one letter for each member: many fit a notification. */
export function encodeEvent(event: JobEventName, job: ToldJob, at: number): string {
  const { id, kind, queue, run, worker, asked, inTransaction } = job
  const open = inTransaction === true ? 1 : undefined
  return JSON.stringify({
    e: event,
    i: id,
    k: kind,
    q: queue,
    r: run,
    w: worker,
    a: asked,
    o: open,
    t: at,
  })
}

/** The events of a notification; none where it is of a release that writes them otherwise. */
export function decodeEvents(text: string): readonly SentEvent[] {
  try {
    const list: unknown = JSON.parse(text)
    return Array.isArray(list) ? list.flatMap(eventIn) : []
  } catch {
    return []
  }
}

/** The door where events of other processes come in. */
function eventIn(value: unknown): readonly SentEvent[] {
  if (typeof value !== 'object' || value === null) return []
  const member = (name: string): unknown => Reflect.get(value, name)
  const text = (name: string): string | null => {
    const found = member(name)
    return typeof found === 'string' ? found : null
  }
  const [event, id, kind, queue] = [member('e'), text('i'), text('k'), text('q')]
  if (!isEventName(event) || id === null || kind === null || queue === null) return []
  return [
    {
      event,
      id,
      kind,
      queue,
      run: Number(member('r') ?? 0),
      worker: text('w'),
      asked: text('a'),
      inTransaction: member('o') === 1,
      at: new Date(Number(member('t'))),
    },
  ]
}

function isEventName(value: unknown): value is JobEventName {
  return NAMES.some((name) => name === value)
}

const NAMES: readonly JobEventName[] = [
  'created',
  'started',
  'completed',
  'retried',
  'paused',
  'released',
  'recovered',
  'merged',
  'cancelled',
  'dead',
]
