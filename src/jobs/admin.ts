import { checkOptions } from '../core/names.ts'
import { isId } from '../core/id.ts'
import { storableText } from '../core/text.ts'
import type { Runner } from '../database/executor.ts'
import { InvalidOptionError } from '../errors.ts'
import { countJobs, redriveJobs } from './admin-statements.ts'

/** What a change of several jobs did. */
export interface Changed {
  /** Jobs that the call meant and that have a record. */
  readonly matched: number
  /** Jobs that were changed: the others were not in a state for it. */
  readonly applied: number
}

export interface RetryOptions {
  /** Who asks, kept in the journal; at most 1 000 bytes of it. */
  by?: string | undefined
  signal?: AbortSignal | undefined
}

export interface AdminOptions {
  readonly runner: () => Runner
  readonly hintUntil: () => string
}

const CHUNK = 500
const BY_BYTES = 1_000

/** X2: dead and cancelled jobs back to pending: due now, failures 0, the same id, the old ending kept in the journal. */
export async function redrive(
  which: string | readonly string[],
  options: RetryOptions,
  { runner, hintUntil }: AdminOptions,
): Promise<Changed> {
  checkOptions('retry options', options, ['by', 'signal'])
  const ids = [...new Set(typeof which === 'string' ? [which] : which)].toSorted()
  for (const id of ids) {
    if (!isId(id)) throw new InvalidOptionError('id', id, 'pass the id that enqueue() answered')
  }
  let matched = 0
  let applied = 0
  for (let start = 0; start < ids.length; start += CHUNK) {
    options.signal?.throwIfAborted()
    const chunk = `{${ids.slice(start, start + CHUNK).join(',')}}`
    const [counted] = await runner().run(countJobs, { ids: chunk })
    matched += counted?.found ?? 0
    const redriven = await runner().run(redriveJobs, {
      ids: chunk,
      by: options.by === undefined ? null : storableText(options.by, BY_BYTES).text,
      hint_until: hintUntil(),
    })
    applied += redriven.length
  }
  return { matched, applied }
}
