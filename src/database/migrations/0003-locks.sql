-- compatible-from: 1
--
-- Locks that end by themselves, and who waits for them in which order. A row of a lock stays for a
-- day after it was free, so that its token keeps growing; after that the clock itself is further on.

create table millrace.locks (
  name text collate "C" not null,
  holder text collate "C",
  owner text not null,
  token bigint not null,
  acquired_at timestamptz not null,
  expires_at timestamptz not null,
  ttl_ms double precision not null,
  constraint {{locks_pkey}} primary key (name),
  constraint {{locks_token}} check (token > 0)
) with (
  autovacuum_vacuum_scale_factor = 0,
  autovacuum_vacuum_threshold = 5000,
  autovacuum_vacuum_cost_delay = 0,
  autovacuum_analyze_scale_factor = 0,
  autovacuum_analyze_threshold = 5000
);

create index {{locks_end}} on millrace.locks (expires_at);

comment on table millrace.locks is 'Locks that are held, and those that were within the last day: taken by take_lock, removed by prune_locks.';
comment on column millrace.locks.name is 'What is locked.';
comment on column millrace.locks.holder is 'The handle that has it (take_lock, renew_locks and release_locks are guarded by it); null: it was released.';
comment on column millrace.locks.owner is 'host:pid of the holder, for people (list_locks); never for ownership.';
comment on column millrace.locks.token is 'Grows with every acquisition: one more than before, or the microseconds of the clock where that is more (take_lock).';
comment on column millrace.locks.acquired_at is 'Since when this holder has it (list_locks).';
comment on column millrace.locks.expires_at is 'When it is over unless it is renewed, or since when it is free.';
comment on column millrace.locks.ttl_ms is 'How long an acquisition or renewal lasts; a third of it is the renewal period (take_lock).';
comment on index millrace.locks_pkey is 'By name: all statements but prune_locks.';
comment on index millrace.locks_end is 'prune_locks reads its head.';

create table millrace.lock_waiters (
  name text collate "C" not null,
  holder text collate "C" not null,
  seen_at timestamptz not null,
  constraint {{lock_waiters_pkey}} primary key (name, holder)
) with (
  autovacuum_vacuum_scale_factor = 0,
  autovacuum_vacuum_threshold = 5000,
  autovacuum_vacuum_cost_delay = 0,
  autovacuum_analyze_scale_factor = 0,
  autovacuum_analyze_threshold = 5000
);

create index {{lock_waiters_seen}} on millrace.lock_waiters (seen_at);

comment on table millrace.lock_waiters is 'Who waits for a lock: written by take_lock with every look, removed by the take, leave_lock and prune_lock_waiters.';
comment on column millrace.lock_waiters.name is 'What is waited for.';
comment on column millrace.lock_waiters.holder is 'The handle that waits: an id, so that they sort by the time they came (take_lock).';
comment on column millrace.lock_waiters.seen_at is 'When it last looked; one that has not looked for five seconds is in nobody''s way (take_lock).';
comment on index millrace.lock_waiters_pkey is 'Who stands before whom.';
comment on index millrace.lock_waiters_seen is 'prune_lock_waiters reads its head.';
