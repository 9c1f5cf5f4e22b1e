-- compatible-from: 1
--
-- What a job keeps between its runs, what people decide about queues and running jobs, and what is
-- counted. Everything here is beside the hot path: written when something changes, never per job.

create table millrace.carries (
  job_id text collate "C" not null,
  carry json not null,
  constraint {{carries_pkey}} primary key (job_id)
);

comment on table millrace.carries is 'The carry of a job that has one: written by settle_runs, save_carry and merges, removed with the job.';
comment on column millrace.carries.job_id is 'The job.';
comment on column millrace.carries.carry is 'What the last run that paused or failed left for the next one, exactly as it was encoded.';
comment on index millrace.carries_pkey is 'By id; claim_jobs reads it with the body.';

create table millrace.queues (
  queue text collate "C" not null,
  paused_at timestamptz,
  defaults json,
  constraint {{queues_pkey}} primary key (queue)
);

comment on table millrace.queues is 'What was decided about a queue; most queues have no row.';
comment on column millrace.queues.queue is 'The queue.';
comment on column millrace.queues.paused_at is 'Since when nothing is claimed from it; null: it is not paused (read_queues).';
comment on column millrace.queues.defaults is 'Options for asks that name none of their own, between those of the kind and of the engine (read_queues).';
comment on index millrace.queues_pkey is 'By name.';

create table millrace.workers (
  worker text collate "C" not null,
  started_at timestamptz not null,
  seen_at timestamptz not null,
  concurrency integer not null,
  busy integer not null,
  queues json not null,
  kinds json not null,
  constraint {{workers_pkey}} primary key (worker)
);

comment on table millrace.workers is 'Workers as they last told of themselves, for people and for explain; never for ownership.';
comment on column millrace.workers.worker is 'host:pid:random.';
comment on column millrace.workers.started_at is 'When it started.';
comment on column millrace.workers.seen_at is 'When it last told of itself; one not seen for a minute is taken for gone (explain_job).';
comment on column millrace.workers.concurrency is 'How many runs at once.';
comment on column millrace.workers.busy is 'How many it had then.';
comment on column millrace.workers.queues is 'Its queues, each with its cap or null.';
comment on column millrace.workers.kinds is 'Its kinds, each with its cap or null.';
comment on index millrace.workers_pkey is 'By worker.';

create table millrace.rollups (
  id bigint generated always as identity,
  at timestamptz not null,
  queue text collate "C" not null,
  kind text collate "C" not null,
  enqueued integer not null,
  completed integer not null,
  failed integer not null,
  constraint {{rollups_pkey}} primary key (id)
);

create index {{rollups_time}} on millrace.rollups (at);

comment on table millrace.rollups is 'Counts of what clients did, appended every ten seconds and summed when asked (job_stats); a crash loses at most those ten seconds.';
comment on column millrace.rollups.id is 'Identity.';
comment on column millrace.rollups.at is 'The end of the interval that was counted.';
comment on column millrace.rollups.queue is 'The queue.';
comment on column millrace.rollups.kind is 'The kind.';
comment on column millrace.rollups.enqueued is 'Jobs enqueued.';
comment on column millrace.rollups.completed is 'Runs that completed.';
comment on column millrace.rollups.failed is 'Runs that failed.';
comment on index millrace.rollups_pkey is 'Identity.';
comment on index millrace.rollups_time is 'The last minutes, and pruning.';

create table millrace.throttles (
  kind text collate "C" not null,
  dedup_key text collate "C" not null,
  until timestamptz not null,
  job_id text collate "C" not null,
  constraint {{throttles_pkey}} primary key (kind, dedup_key)
);

create index {{throttles_until}} on millrace.throttles (until);

comment on table millrace.throttles is 'Windows that a throttled key is in, taken by throttle_ask and removed by prune_throttles; they outlive their jobs.';
comment on column millrace.throttles.kind is 'The kind (throttle_ask).';
comment on column millrace.throttles.dedup_key is 'The key (throttle_ask).';
comment on column millrace.throttles.until is 'Until then further asks are answered with the job that won (throttle_ask).';
comment on column millrace.throttles.job_id is 'The job that won the window.';
comment on index millrace.throttles_pkey is 'One window per key.';
comment on index millrace.throttles_until is 'prune_throttles reads its head.';

alter table millrace.leases
  add column cancel_by text,
  add column cancel_why text,
  add column progress_done double precision,
  add column progress_total double precision;

comment on column millrace.leases.cancel_by is 'Who asked for the cancel (settle_runs records it).';
comment on column millrace.leases.cancel_why is 'What they said (settle_runs records it).';
comment on column millrace.leases.progress_done is 'How far the run said it is (save_progress).';
comment on column millrace.leases.progress_total is 'Out of how much, where the run knows (save_progress).';

create index {{ready_rerun}} on millrace.ready (kind, dedup_key) where reason = 'rerun';

comment on index millrace.ready_rerun is 'Asks that wait for a running twin of their key are made due when it ends (release_reruns, release_reruns_of).';

comment on column millrace.finished.recovered_by is 'The worker that ended it in place of the lost one; the word forced where a cancel ended it over its run; null when its own run did (settled_runs).';
