-- compatible-from: 1
--
-- Jobs. A body is written once, into jobs; what moves is a thin row that stands in exactly one of
-- ready (waiting), leases (running) and finished (ended). Nothing here is updated on the hot path:
-- an updated row leaves a dead version that every later reader steps over while any snapshot is
-- held open anywhere (docs/adr/0001).
--
-- Text that is compared or ordered is collate "C": bytes, the same on every host and version.

create table millrace.jobs (
  id text collate "C" not null,
  kind text collate "C" not null,
  queue text collate "C" not null,
  payload json not null,
  priority smallint not null,
  created_at timestamptz not null,
  dedup_key text collate "C",
  options json,
  schedule text collate "C",
  boundary timestamptz,
  constraint {{jobs_pkey}} primary key (id),
  constraint {{jobs_priority}} check (priority between 0 and 9),
  constraint {{jobs_boundary}} check ((schedule is null) = (boundary is null))
);

create unique index {{jobs_fires}} on millrace.jobs (schedule, boundary) where schedule is not null;

comment on table millrace.jobs is 'What was asked, written once by enqueue_jobs and removed by retention (prune_jobs).';
comment on column millrace.jobs.id is 'ULID in canonical text, made by the producer: the same id again is the same ask (enqueue_jobs). Its order is the order of creation.';
comment on column millrace.jobs.kind is 'Which handler it is for (claim_jobs).';
comment on column millrace.jobs.queue is 'Where workers claim it (claim_jobs).';
comment on column millrace.jobs.payload is 'The input, exactly the text that was encoded: json keeps spelling and order, jsonb would not (claim_jobs).';
comment on column millrace.jobs.priority is '0 to 9, 0 first (claim_jobs).';
comment on column millrace.jobs.created_at is 'When the ask was made, by the clock of the client (list_jobs).';
comment on column millrace.jobs.dedup_key is 'The key the ask carried, per kind, null when it had none (list_jobs).';
comment on column millrace.jobs.options is 'What enqueue stamped and differs from the defaults: failures, backoff, timeout, keep. Null: all defaults (claim_jobs, lapsed_leases).';
comment on column millrace.jobs.schedule is 'The schedule that fired it, null for an ordinary ask (list_jobs).';
comment on column millrace.jobs.boundary is 'The instant of the schedule it was fired for (list_jobs).';
comment on constraint {{jobs_pkey}} on millrace.jobs is 'Looked up by id everywhere; makes enqueue idempotent.';
comment on index millrace.jobs_pkey is 'By id, and lists in order of creation.';
comment on index millrace.jobs_fires is 'One job for one boundary of a schedule, whoever fires.';

create table millrace.ready (
  job_id text collate "C" not null,
  queue text collate "C" not null,
  kind text collate "C" not null,
  due_at timestamptz not null,
  expires_at timestamptz,
  lease_ms bigint not null,
  run integer not null,
  failures integer not null,
  priority smallint not null,
  reason text,
  dedup_key text collate "C",
  sibling text collate "C" not null default '',
  constraint {{ready_pkey}} primary key (job_id),
  constraint {{ready_priority}} check (priority between 0 and 9),
  constraint {{ready_lease}} check (lease_ms > 0),
  constraint {{ready_counts}} check (run >= 0 and failures >= 0),
  constraint {{ready_reason}} check (reason in ('retry', 'pause', 'release', 'recover', 'redrive', 'rerun'))
) with (
  autovacuum_vacuum_scale_factor = 0,
  autovacuum_vacuum_threshold = 5000,
  autovacuum_vacuum_cost_delay = 0,
  autovacuum_analyze_scale_factor = 0,
  autovacuum_analyze_threshold = 5000
);

create index {{ready_claim}} on millrace.ready (queue, priority, due_at, job_id);
create unique index {{ready_key}} on millrace.ready (kind, dedup_key, sibling) where dedup_key is not null;
create index {{ready_expiry}} on millrace.ready (expires_at) where expires_at is not null;

comment on table millrace.ready is 'The place in line of every pending job: put here by enqueue_jobs, settle_runs, recover_runs and redrive_jobs, taken by claim_jobs and expire_jobs.';
comment on column millrace.ready.job_id is 'The job.';
comment on column millrace.ready.queue is 'Leads the index, so that one queue never slows another (claim_jobs).';
comment on column millrace.ready.kind is 'Workers claim only kinds they handle (claim_jobs).';
comment on column millrace.ready.due_at is 'Not before this instant (claim_jobs).';
comment on column millrace.ready.expires_at is 'Never started from this instant on (claim_jobs, expire_jobs). Null: never expires.';
comment on column millrace.ready.lease_ms is 'How long a claim holds it without renewal, in milliseconds (claim_jobs).';
comment on column millrace.ready.run is 'Runs begun so far (claim_jobs adds one).';
comment on column millrace.ready.failures is 'Failures so far (settle_runs decides by them).';
comment on column millrace.ready.priority is '0 to 9, 0 first (claim_jobs).';
comment on column millrace.ready.reason is 'Why it is back: retry, pause, release, recover, redrive, rerun. Null: it has never run (list_jobs).';
comment on column millrace.ready.dedup_key is 'The key of the ask, null without one.';
comment on column millrace.ready.sibling is 'Empty for the one job of its key that takes further asks; the job id for those that returned beside it (settle_runs, recover_runs).';
comment on index millrace.ready_pkey is 'By id; a job stands here once.';
comment on index millrace.ready_claim is 'claim_jobs walks due rows of one queue and level in order; next_due reads its head.';
comment on index millrace.ready_key is 'One job per key takes asks; returning twins stand beside it.';
comment on index millrace.ready_expiry is 'expired_jobs reads its head.';

create table millrace.leases (
  job_id text collate "C" not null,
  worker text collate "C" not null,
  queue text collate "C" not null,
  kind text collate "C" not null,
  started_at timestamptz not null,
  lease_ends_at timestamptz not null,
  cancel_requested_at timestamptz,
  due_at timestamptz not null,
  expires_at timestamptz,
  lease_ms bigint not null,
  run integer not null,
  failures integer not null,
  priority smallint not null,
  dedup_key text collate "C",
  constraint {{leases_pkey}} primary key (job_id),
  constraint {{leases_run}} check (run > 0)
) with (
  autovacuum_vacuum_scale_factor = 0,
  autovacuum_vacuum_threshold = 5000,
  autovacuum_vacuum_cost_delay = 0,
  autovacuum_analyze_scale_factor = 0,
  autovacuum_analyze_threshold = 5000
);

create index {{leases_end}} on millrace.leases (lease_ends_at);
create index {{leases_cancel}} on millrace.leases (worker) where cancel_requested_at is not null;
create index {{leases_key}} on millrace.leases (kind, dedup_key) where dedup_key is not null;

comment on table millrace.leases is 'Every running job: put here by claim_jobs, extended by renew_leases, removed by settle_runs and recover_runs.';
comment on column millrace.leases.job_id is 'The job.';
comment on column millrace.leases.worker is 'Who runs it. Owner of the lease is (job_id, run, worker); every write of a run is guarded by the three.';
comment on column millrace.leases.queue is 'Puts the job back (settle_runs, recover_runs).';
comment on column millrace.leases.kind is 'Puts the job back (settle_runs, recover_runs).';
comment on column millrace.leases.started_at is 'When the claim was made; a claim whose answer was lost is found by it (stray_leases).';
comment on column millrace.leases.lease_ends_at is 'From then on the job may be recovered by any worker (lapsed_leases).';
comment on column millrace.leases.cancel_requested_at is 'When a cancel was asked of the running job, null without one (list_jobs).';
comment on column millrace.leases.due_at is 'Its place in line, kept for a release (settle_runs).';
comment on column millrace.leases.expires_at is 'Puts the job back (settle_runs, recover_runs).';
comment on column millrace.leases.lease_ms is 'By how much a renewal extends the lease, in milliseconds (renew_leases).';
comment on column millrace.leases.run is 'The fencing number: 1 for the first run, never used again.';
comment on column millrace.leases.failures is 'Failures before this run (settle_runs, lapsed_leases).';
comment on column millrace.leases.priority is 'Puts the job back (settle_runs, recover_runs).';
comment on column millrace.leases.dedup_key is 'Puts the job back (settle_runs, recover_runs).';
comment on index millrace.leases_pkey is 'settle_runs and renew_leases look up by id.';
comment on index millrace.leases_end is 'lapsed_leases reads its head.';
comment on index millrace.leases_cancel is 'A worker asks for cancels of its own runs.';
comment on index millrace.leases_key is 'An ask of scope live looks for a running twin.';

create table millrace.finished (
  job_id text collate "C" not null,
  state text not null,
  kind text collate "C" not null,
  queue text collate "C" not null,
  finished_at timestamptz not null,
  started_at timestamptz,
  prune_at timestamptz,
  run integer not null,
  failures integer not null,
  reason text,
  worker text collate "C",
  recovered_by text collate "C",
  decided_by text,
  why text,
  note text,
  attachment json,
  result json,
  error json,
  constraint {{finished_pkey}} primary key (job_id),
  constraint {{finished_state}} check (state in ('completed', 'dead', 'cancelled')),
  constraint {{finished_reason}} check (
    (state = 'dead') = (reason is not null) and reason in ('failed', 'gave-up', 'expired', 'undecodable')
  )
);

create index {{finished_list}} on millrace.finished (state, finished_at, job_id);
create index {{finished_prune}} on millrace.finished (prune_at) where prune_at is not null;

comment on table millrace.finished is 'How every ended job ended: written by settle_runs, recover_runs and expire_jobs, removed by prune_jobs and redrive_jobs.';
comment on column millrace.finished.job_id is 'The job.';
comment on column millrace.finished.state is 'completed, dead or cancelled.';
comment on column millrace.finished.kind is 'Lists by kind without a look into jobs (list_jobs).';
comment on column millrace.finished.queue is 'Lists by queue without a look into jobs (list_jobs).';
comment on column millrace.finished.finished_at is 'When it ended (list_jobs).';
comment on column millrace.finished.started_at is 'When its last run began; null when it ended without one (list_jobs).';
comment on column millrace.finished.prune_at is 'When retention may remove it; null: kept for ever (prune_jobs).';
comment on column millrace.finished.run is 'The run that ended it; 0 when it never ran.';
comment on column millrace.finished.failures is 'Failures at its end (list_jobs).';
comment on column millrace.finished.reason is 'Why it is dead: failed, gave-up, expired, undecodable. Null for the other states.';
comment on column millrace.finished.worker is 'Who ran it last; settled_runs finds a settlement of unknown outcome by it.';
comment on column millrace.finished.recovered_by is 'The worker that ended it in place of the lost one; null when its own run did (settled_runs).';
comment on column millrace.finished.decided_by is 'Who asked for the end, where somebody did (list_jobs).';
comment on column millrace.finished.why is 'What they said (list_jobs).';
comment on column millrace.finished.note is 'What the run noted for people (list_jobs).';
comment on column millrace.finished.attachment is 'What the run attached (list_jobs).';
comment on column millrace.finished.result is 'What a kind with a declared result returned (list_jobs).';
comment on column millrace.finished.error is 'The last error of a dead job, recorded and cut to size (list_jobs).';
comment on index millrace.finished_pkey is 'By id; a job ends once.';
comment on index millrace.finished_list is 'Lists by state and time, bulk redrive.';
comment on index millrace.finished_prune is 'prune_jobs reads its head.';

create table millrace.journal (
  id bigint generated always as identity,
  job_id text collate "C" not null,
  at timestamptz not null,
  started_at timestamptz,
  due_at timestamptz,
  run integer not null,
  failures integer not null,
  outcome text not null,
  reason text,
  worker text collate "C",
  recovered_by text collate "C",
  decided_by text,
  why text,
  decision text,
  asked_id text collate "C",
  note text,
  attachment json,
  error json,
  constraint {{journal_pkey}} primary key (id),
  constraint {{journal_outcome}} check (
    outcome in (
      'completed', 'released', 'paused', 'retried', 'stale-recovered',
      'dead', 'cancelled', 'merged', 'redriven', 'rescheduled'
    )
  )
);

create index {{journal_job}} on millrace.journal (job_id, id);
create unique index {{journal_asked}} on millrace.journal (asked_id) where asked_id is not null;

comment on table millrace.journal is 'Every run and every decision that was not the end of its job, append-only, written with the move it records. The end itself is in finished; the view timeline unites the two.';
comment on column millrace.journal.id is 'Order within a job.';
comment on column millrace.journal.job_id is 'The job.';
comment on column millrace.journal.at is 'When it happened.';
comment on column millrace.journal.started_at is 'When the run began; null for a decision.';
comment on column millrace.journal.due_at is 'When the job is due again (job_journal).';
comment on column millrace.journal.run is 'The run it tells of, or the last one before the decision.';
comment on column millrace.journal.failures is 'Failures after it (job_journal).';
comment on column millrace.journal.outcome is 'What happened.';
comment on column millrace.journal.reason is 'For an ending that a redrive took back: its reason.';
comment on column millrace.journal.worker is 'Who ran it; settled_runs finds a settlement of unknown outcome by it.';
comment on column millrace.journal.recovered_by is 'The worker that took the job from a lost one (settled_runs).';
comment on column millrace.journal.decided_by is 'Who decided, where somebody did (job_journal).';
comment on column millrace.journal.why is 'What they said (job_journal).';
comment on column millrace.journal.decision is 'How an ask was merged.';
comment on column millrace.journal.asked_id is 'The id of the ask that was merged into this job.';
comment on column millrace.journal.note is 'What the run noted for people (job_journal).';
comment on column millrace.journal.attachment is 'What the run attached (job_journal).';
comment on column millrace.journal.error is 'The error of a failed run, recorded and cut to size (job_journal).';
comment on index millrace.journal_pkey is 'Identity.';
comment on index millrace.journal_job is 'job_journal reads one job in order; prune_jobs deletes by job.';
comment on index millrace.journal_asked is 'A repeated ask finds that it was merged already.';

create view millrace.timeline as
  select
    job_id, at, outcome, run, failures, worker, started_at, due_at, reason,
    recovered_by, decided_by, why, decision, asked_id, note, attachment, error, null::json as result, id as entry
  from millrace.journal
  union all
  select
    job_id, finished_at, state, run, failures, worker, started_at, null::timestamptz, reason,
    recovered_by, decided_by, why, null::text, null::text, note, attachment, error, result, 9223372036854775807
  from millrace.finished;

comment on view millrace.timeline is 'Everything that happened to a job, in order of (job_id, entry): the journal, then the end.';

create view millrace.all_jobs as
  select
    r.job_id as id, r.kind, r.queue, 'pending'::text as state,
    case
      when r.reason = 'pause' then 'paused'
      when r.reason in ('retry', 'recover') then 'retrying'
      else 'scheduled or due'
    end as detail,
    r.priority, r.run, r.failures, r.due_at, r.expires_at,
    null::text as worker, null::timestamptz as started_at, null::timestamptz as lease_ends_at, null::timestamptz as finished_at,
    (select j.created_at from millrace.jobs j where j.id = r.job_id) as created_at,
    (select j.payload from millrace.jobs j where j.id = r.job_id) as payload,
    null::json as result,
    (select e.error from millrace.journal e where e.job_id = r.job_id and e.error is not null order by e.id desc limit 1) as last_error
  from millrace.ready r
  union all
  select
    l.job_id, l.kind, l.queue, 'running', null,
    l.priority, l.run, l.failures, l.due_at, l.expires_at,
    l.worker, l.started_at, l.lease_ends_at, null,
    (select j.created_at from millrace.jobs j where j.id = l.job_id),
    (select j.payload from millrace.jobs j where j.id = l.job_id),
    null::json,
    (select e.error from millrace.journal e where e.job_id = l.job_id and e.error is not null order by e.id desc limit 1)
  from millrace.leases l
  union all
  select
    f.job_id, f.kind, f.queue, f.state, f.reason,
    (select j.priority from millrace.jobs j where j.id = f.job_id), f.run, f.failures, null, null,
    f.worker, f.started_at, null, f.finished_at,
    (select j.created_at from millrace.jobs j where j.id = f.job_id),
    (select j.payload from millrace.jobs j where j.id = f.job_id),
    f.result,
    coalesce(
      f.error,
      (select e.error from millrace.journal e where e.job_id = f.job_id and e.error is not null order by e.id desc limit 1)
    )
  from millrace.finished f;

comment on view millrace.all_jobs is 'One row per job with its state, for people who write SQL: the layout of the tables may change, this view stays.';

create view millrace.errors as
  select job_id, at, run, worker, outcome, error
  from millrace.timeline
  where error is not null;

comment on view millrace.errors is 'One row per failure, of living and of ended jobs.';

-- A plain enqueue for triggers and other languages (spec E7). It stamps the engine's defaults and reads
-- the database's clock, the only statement beside the clock's sample that does: a trigger has no other.
create function millrace.enqueue(
  kind text,
  payload json default 'null',
  queue text default 'default',
  priority integer default 5,
  due_at timestamptz default null,
  id text default null
) returns text
language plpgsql
as $body$
declare
  now_ms constant timestamptz := date_trunc('milliseconds', clock_timestamp());
  due constant timestamptz := greatest(now_ms, date_trunc('milliseconds', due_at));
  alphabet constant text := '0123456789ABCDEFGHJKMNPQRSTVWXYZ';
  entropy constant text := replace(gen_random_uuid()::text, '-', '');
  parts bigint[];
  made text := '';
begin
  if coalesce(btrim(kind, E' \t\n\r\f\v'), '') = '' or octet_length(kind) > 200 or starts_with(kind, 'millrace.') then
    raise exception 'millrace: % cannot be a kind: 1 to 200 bytes, not only white space, not beginning with "millrace."', quote_nullable(kind)
      using errcode = '22023';
  end if;
  if coalesce(btrim(queue, E' \t\n\r\f\v'), '') = '' or octet_length(queue) > 200 or starts_with(queue, 'millrace.') then
    raise exception 'millrace: % cannot be a queue: 1 to 200 bytes, not only white space, not beginning with "millrace."', quote_nullable(queue)
      using errcode = '22023';
  end if;
  if priority is null or priority not between 0 and 9 then
    raise exception 'millrace: priority % is not between 0 and 9; 0 comes first', priority using errcode = '22023';
  end if;
  if payload is null then
    raise exception 'millrace: payload is NULL; pass the json value null for none' using errcode = '22004';
  end if;
  if id is null then
    -- A ULID: 48 bits of time, then 80 random bits. The first and the last 40 bits of a version 4 UUID
    -- are random, its version and variant lie between.
    parts := array[
      floor(extract(epoch from now_ms) * 1000)::bigint,
      ('x' || lpad(substr(entropy, 1, 10), 16, '0'))::bit(64)::bigint,
      ('x' || lpad(substr(entropy, 23, 10), 16, '0'))::bit(64)::bigint
    ];
    for part in 1 .. 3 loop
      for digit in reverse case part when 1 then 9 else 7 end .. 0 loop
        made := made || substr(alphabet, ((parts[part] >> (5 * digit)) & 31)::integer + 1, 1);
      end loop;
    end loop;
  elsif id !~ '^[0-7][0-9A-HJKMNP-TV-Z]{25}$' then
    raise exception 'millrace: % is not a ULID in canonical text; leave id out to have one made', quote_nullable(id) using errcode = '22023';
  else
    made := id;
  end if;

  insert into millrace.jobs as j (id, kind, queue, payload, priority, created_at)
  values (made, kind, queue, payload, priority, now_ms)
  on conflict on constraint {{jobs_pkey}} do nothing;
  if found then
    insert into millrace.ready (job_id, queue, kind, due_at, lease_ms, run, failures, priority)
    values (made, queue, kind, due, 60000, 0, 0, priority);
    if due <= now_ms + interval '30 seconds' then
      perform pg_notify('{{channel}}', 'due ' || floor(extract(epoch from due) * 1000)::bigint || ' ' || queue);
    end if;
  end if;
  return made;
end
$body$;

comment on function millrace.enqueue(text, json, text, integer, timestamptz, text) is 'Enqueues a job in the caller''s transaction and returns its id; the same id again changes nothing.';
