-- compatible-from: 1
--
-- Schedules. A row holds everything that a fire needs: when, and the job as its producer stamped it,
-- so that any worker can fire it, also one that does not know its kind. A fire is an update of
-- next_fire_at guarded by its old value; its job carries (schedule, boundary), unique in jobs, and
-- what a merge makes of it carries the same in the journal.

create table millrace.schedules (
  schedule text collate "C" not null,
  kind text collate "C" not null,
  queue text collate "C" not null,
  payload json not null,
  options json,
  dedup_key text collate "C",
  dedup json,
  merge text,
  cron text,
  timezone text,
  next_fire_at timestamptz,
  last_fire_at timestamptz,
  last_job_id text collate "C",
  paused_at timestamptz,
  lease_ms bigint not null,
  expires_after_ms bigint,
  every_ms bigint,
  catch_up integer not null,
  revision integer not null default 1,
  priority smallint not null,
  skips_overlap boolean not null,
  constraint {{schedules_pkey}} primary key (schedule),
  constraint {{schedules_timing}} check ((cron is null) <> (every_ms is null) and (cron is null) = (timezone is null)),
  constraint {{schedules_numbers}} check (priority between 0 and 9 and lease_ms > 0 and every_ms > 0 and catch_up >= 0),
  constraint {{schedules_merge}} check (
    merge in ('keep', 'replace', 'independent', 'function')
    and (dedup_key is null) = (merge is null)
    and (dedup is null) = (merge is null)
  )
);

create index {{schedules_due}} on millrace.schedules (next_fire_at) where paused_at is null;

comment on table millrace.schedules is 'What is enqueued again and again: written by register_schedule, moved on by fire_schedules and begin_fire, removed by remove_schedule and prune_schedules.';
comment on column millrace.schedules.schedule is 'Its name.';
comment on column millrace.schedules.kind is 'Of its jobs (fire_schedules).';
comment on column millrace.schedules.queue is 'Of its jobs, as stamped when it was registered (fire_schedules).';
comment on column millrace.schedules.payload is 'The input of its jobs, exactly the text that was encoded (fire_schedules).';
comment on column millrace.schedules.options is 'What its jobs are stamped with, as in jobs.options (fire_schedules).';
comment on column millrace.schedules.dedup_key is 'The key of its jobs, null without one: then begin_fire fires it.';
comment on column millrace.schedules.dedup is 'How asks of the key meet: pending, live, throttle or debounce, with their windows (begin_fire).';
comment on column millrace.schedules.merge is 'What a fire does with a pending job of the key; function: only a worker that handles the kind can fire it (soonest_schedules). Null without a key.';
comment on column millrace.schedules.cron is 'The pattern, null for every (soonest_schedules).';
comment on column millrace.schedules.timezone is 'The IANA zone of the pattern, null for every (soonest_schedules).';
comment on column millrace.schedules.next_fire_at is 'The boundary that is fired next, and the guard of that fire; the phase of every. Null: it never fires again.';
comment on column millrace.schedules.last_fire_at is 'The boundary that was fired last (list_schedules).';
comment on column millrace.schedules.last_job_id is 'The job of the last fire, or the one that it was merged into: while it lives, an overlap is skipped (fire_schedules).';
comment on column millrace.schedules.paused_at is 'Since when it does not fire; null: it does.';
comment on column millrace.schedules.lease_ms is 'How long a claim holds its jobs, in milliseconds (fire_schedules).';
comment on column millrace.schedules.expires_after_ms is 'Its jobs are never started once this has passed since the fire, in milliseconds. Null: they never expire.';
comment on column millrace.schedules.every_ms is 'The distance of its boundaries, null for cron (soonest_schedules).';
comment on column millrace.schedules.catch_up is 'How many of the boundaries that were missed get a job, the latest ones; 0 none (soonest_schedules).';
comment on column millrace.schedules.revision is 'Grows with every change but a fire: who decided by an older one misses (fire_schedules).';
comment on column millrace.schedules.priority is 'Of its jobs (fire_schedules).';
comment on column millrace.schedules.skips_overlap is 'Whether it does not fire while its last job lives (fire_schedules).';
comment on index millrace.schedules_pkey is 'By name.';
comment on index millrace.schedules_due is 'soonest_schedules reads its head.';

alter table millrace.journal add column schedule text collate "C";
alter table millrace.journal add column boundary timestamptz;
create unique index {{journal_fires}} on millrace.journal (schedule, boundary) where schedule is not null;

comment on column millrace.journal.schedule is 'For a merged ask that a schedule fired: which one (mark_fire).';
comment on column millrace.journal.boundary is 'The boundary it was fired for (mark_fire).';
comment on index millrace.journal_fires is 'A fire that was merged is never merged again (begin_fire, fire_schedules).';
