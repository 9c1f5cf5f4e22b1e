-- compatible-from: 1
--
-- Outbox. A message is a job whose handler delivers outside, in order per key. Messages with a key
-- stand in ready, not due, until it is their turn; three tables beside say whose turn it is. A
-- message arrives in outbox_inbox, in the sender's transaction; the commit itself gives it its place
-- in outbox_line, by a deferred trigger, so that the line is in the order of commits and no sender
-- waits for another; take_turns, run by workers, gives the turn to the first of each line, which
-- outbox_heads holds (docs/adr/0012).

create table millrace.outbox_inbox (
  arrival bigint generated always as identity,
  job_id text collate "C" not null,
  kind text collate "C" not null,
  key text collate "C" not null,
  due_at timestamptz not null,
  halts boolean not null,
  constraint {{outbox_inbox_pkey}} primary key (arrival)
) with (
  autovacuum_vacuum_scale_factor = 0,
  autovacuum_vacuum_threshold = 5000,
  autovacuum_vacuum_cost_delay = 0,
  autovacuum_analyze_scale_factor = 0,
  autovacuum_analyze_threshold = 5000
);

comment on table millrace.outbox_inbox is 'Messages with a key that arrived and were not looked at yet: put here by send_messages and redrive_jobs, consumed by take_turns.';
comment on column millrace.outbox_inbox.arrival is 'Where a look begins (take_turns).';
comment on column millrace.outbox_inbox.job_id is 'The message.';
comment on column millrace.outbox_inbox.kind is 'The outbox.';
comment on column millrace.outbox_inbox.key is 'Messages of one key are delivered in the order of their commits.';
comment on column millrace.outbox_inbox.due_at is 'For its place in the line.';
comment on column millrace.outbox_inbox.halts is 'For its place in the line.';
comment on index millrace.outbox_inbox_pkey is 'take_turns reads its head.';

create table millrace.outbox_line (
  position bigint generated always as identity,
  job_id text collate "C" not null,
  kind text collate "C" not null,
  key text collate "C" not null,
  due_at timestamptz not null,
  halts boolean not null,
  is_over boolean not null default false,
  constraint {{outbox_line_pkey}} primary key (job_id)
) with (
  autovacuum_vacuum_scale_factor = 0,
  autovacuum_vacuum_threshold = 5000,
  autovacuum_vacuum_cost_delay = 0,
  autovacuum_analyze_scale_factor = 0,
  autovacuum_analyze_threshold = 5000
);

create unique index {{outbox_line_order}} on millrace.outbox_line (kind, key, position) where not is_over;
create index {{outbox_line_over}} on millrace.outbox_line (position) where is_over;

comment on table millrace.outbox_line is 'The place of every message with a key: put here by the commit that sent it, removed by take_turns when it was delivered, and by forget_messages with the record of a dead or cancelled one.';
comment on column millrace.outbox_line.position is 'Given while the sender commits: of two messages whose commits did not overlap the first has the smaller.';
comment on column millrace.outbox_line.job_id is 'The message.';
comment on column millrace.outbox_line.kind is 'The outbox.';
comment on column millrace.outbox_line.key is 'The key: one message of it at a time has its turn.';
comment on column millrace.outbox_line.due_at is 'Not to be delivered before this instant, even when it is its turn (take_turns).';
comment on column millrace.outbox_line.halts is 'Whether its death halts its key (onDead), stamped when it was sent.';
comment on column millrace.outbox_line.is_over is 'It is dead or cancelled, and the line went on without it; a redrive takes it back to its place (redrive_jobs).';
comment on index millrace.outbox_line_pkey is 'By id; a message stands here once.';
comment on index millrace.outbox_line_order is 'take_turns reads the first of a key.';
comment on index millrace.outbox_line_over is 'forget_messages walks those that are over.';

create table millrace.outbox_heads (
  kind text collate "C" not null,
  key text collate "C" not null,
  job_id text collate "C" not null,
  constraint {{outbox_heads_pkey}} primary key (kind, key)
) with (
  fillfactor = 50,
  autovacuum_vacuum_scale_factor = 0,
  autovacuum_vacuum_threshold = 5000,
  autovacuum_vacuum_cost_delay = 0
);

comment on table millrace.outbox_heads is 'Whose turn it is, one message for each key: given by take_turns and only by it, so that two messages of a key are never due at once.';
comment on column millrace.outbox_heads.kind is 'The outbox.';
comment on column millrace.outbox_heads.key is 'The key.';
comment on column millrace.outbox_heads.job_id is 'The message that is due, runs, waits for its next try, or died and halts its key.';
comment on index millrace.outbox_heads_pkey is 'One turn for each key, however many sessions give it (take_turns); ended_heads walks it.';

-- At the commit of the sender, after all its statements: a number from a sequence that was drawn
-- earlier would say who wrote first. It locks nothing. A redriven message has its place already.
create function millrace.line_up_message() returns trigger
language plpgsql
as $body$
begin
  insert into millrace.outbox_line as l (job_id, kind, key, due_at, halts)
  values (new.job_id, new.kind, new.key, new.due_at, new.halts)
  on conflict on constraint {{outbox_line_pkey}} do nothing;
  return null;
end
$body$;

comment on function millrace.line_up_message() is 'Gives a message its place in the line of its key, when its sender commits.';

create constraint trigger {{outbox_line_up}}
  after insert on millrace.outbox_inbox
  deferrable initially deferred
  for each row execute function millrace.line_up_message();

-- Not validated: the rows that are there were held to the narrower one, and a walk over all of them
-- would hold up every worker.
alter table millrace.ready drop constraint {{ready_reason}};
alter table millrace.ready add constraint {{ready_reason}}
  check (reason in ('retry', 'pause', 'release', 'recover', 'redrive', 'rerun', 'line')) not valid;

comment on column millrace.ready.reason is 'Why it is back: retry, pause, release, recover, redrive, rerun; line: it waits for its turn among the messages of its key. Null: it has never run (list_jobs).';
