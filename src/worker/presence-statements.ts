import { statement } from '../database/statement.ts'
import type { Statement } from '../database/statement.ts'

export type TellParams = {
  readonly worker: string
  readonly started_at: string
  readonly concurrency: number
  readonly busy: number
  /** JSON objects of caps by name; null: none. */
  readonly queues: string
  readonly kinds: string
  /** Workers not seen since then are removed with it. */
  readonly gone_before: string
}

export const tellWorker: Statement<TellParams, { worker: string }> = statement(
  'tell_worker',
  `
with gone as materialized (
  select w.ctid as tid
  from millrace.workers w
  where w.seen_at < $gone_before::text::timestamptz
    and w.worker <> $worker::text
  for update skip locked
),
removed as (
  delete from millrace.workers
  where ctid = any (array(select tid from gone))
)
insert into millrace.workers as w (worker, started_at, seen_at, concurrency, busy, queues, kinds)
values (
  $worker::text, $started_at::text::timestamptz, $now::text::timestamptz, $concurrency::int, $busy::int,
  $queues::text::json, $kinds::text::json
)
on conflict (worker) do update set seen_at = excluded.seen_at, busy = excluded.busy
returning w.worker`,
)

export const forgetWorker: Statement<{ worker: string }, { worker: string }> = statement(
  'forget_worker',
  `
delete from millrace.workers
where worker = $worker::text
returning worker`,
)
