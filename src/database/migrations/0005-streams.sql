-- compatible-from: 1
--
-- Streams. An event is published into event_inbox, in the publisher's transaction, and gets its
-- offset afterwards, in sequence_events, by whoever reads next. Offsets from a sequence would be
-- given before the commit, and a reader that is past offset 2 never sees offset 1 committed later
-- (docs/adr/0008). No foreign key points at a stream's row and no publisher makes it, so that no
-- publisher ever waits for another.

create table millrace.streams (
  stream text collate "C" not null,
  created_at timestamptz not null,
  constraint {{streams_pkey}} primary key (stream)
);

comment on table millrace.streams is 'A stream that has events: made by sequence_events, which locks the row while it gives offsets. Never updated.';
comment on column millrace.streams.stream is 'The stream.';
comment on column millrace.streams.created_at is 'When its first events got their offsets (list_streams).';
comment on index millrace.streams_pkey is 'By name; one session at a time gives the offsets of a stream.';

create table millrace.event_inbox (
  stream text collate "C" not null,
  place bigint generated always as identity,
  published_at timestamptz not null,
  id text collate "C" not null,
  key text collate "C",
  data json not null,
  constraint {{event_inbox_pkey}} primary key (stream, place)
) with (
  autovacuum_vacuum_scale_factor = 0,
  autovacuum_vacuum_threshold = 5000,
  autovacuum_vacuum_cost_delay = 0,
  autovacuum_analyze_scale_factor = 0,
  autovacuum_analyze_threshold = 5000
);

comment on table millrace.event_inbox is 'Events that have no offset yet: put here by publish_events, moved to events by sequence_events.';
comment on column millrace.event_inbox.stream is 'The stream.';
comment on column millrace.event_inbox.place is 'The order of publishing, and where a walk may begin (sequence_events). It has gaps, and is never shown.';
comment on column millrace.event_inbox.published_at is 'When it was published, by the clock of the publisher.';
comment on column millrace.event_inbox.id is 'ULID made by the publisher; the same id again is the same event.';
comment on column millrace.event_inbox.key is 'What the event is about, null without one.';
comment on column millrace.event_inbox.data is 'Exactly the text that was encoded.';
comment on index millrace.event_inbox_pkey is 'sequence_events walks one stream in the order of publishing, from a mark on.';

create table millrace.events (
  stream text collate "C" not null,
  event_offset bigint not null,
  place bigint not null,
  published_at timestamptz not null,
  id text collate "C" not null,
  key text collate "C",
  data json not null,
  constraint {{events_pkey}} primary key (stream, event_offset),
  constraint {{events_offset}} check (event_offset > 0)
) with (
  autovacuum_vacuum_scale_factor = 0,
  autovacuum_vacuum_threshold = 50000,
  autovacuum_vacuum_insert_scale_factor = 0,
  autovacuum_vacuum_insert_threshold = 100000,
  autovacuum_analyze_scale_factor = 0,
  autovacuum_analyze_threshold = 50000
);

create unique index {{events_id}} on millrace.events (stream, id);
create index {{events_key}} on millrace.events (stream, key, event_offset) where key is not null;

comment on table millrace.events is 'Events with their offsets: put here by sequence_events, removed by trim_events, never changed.';
comment on column millrace.events.stream is 'The stream.';
comment on column millrace.events.event_offset is 'Dense from 1 in each stream, in the order in which sequence_events found the events committed.';
comment on column millrace.events.place is 'Its place in event_inbox: that of the newest event says how far the inbox was walked, to every process (sequence_events).';
comment on column millrace.events.published_at is 'When it was published, by the clock of the publisher.';
comment on column millrace.events.id is 'ULID made by the publisher.';
comment on column millrace.events.key is 'What the event is about, null without one.';
comment on column millrace.events.data is 'Exactly the text that was encoded.';
comment on constraint {{events_offset}} on millrace.events is 'Offsets begin at 1: 0 is before the first event.';
comment on index millrace.events_pkey is 'read_events reads on from an offset, its end is the head; the last guard against an offset given twice.';
comment on index millrace.events_id is 'A repeated publish is dropped by it (sequence_events); event_offset_of looks an id up.';
comment on index millrace.events_key is 'read_events_of_key; events without a key cost it nothing.';

create table millrace.consumers (
  stream text collate "C" not null,
  consumer text collate "C" not null,
  holder text,
  lease_ends_at timestamptz,
  saved_offset bigint,
  token bigint not null,
  constraint {{consumers_pkey}} primary key (stream, consumer),
  constraint {{consumers_lease}} check ((holder is null) = (lease_ends_at is null))
) with (
  fillfactor = 20,
  autovacuum_vacuum_scale_factor = 0,
  autovacuum_vacuum_threshold = 1000,
  autovacuum_vacuum_cost_delay = 0
);

comment on table millrace.consumers is 'How far each consumer of a stream has come, and which process holds its name: take_consumer, keep_consumer, move_consumer, save_offset.';
comment on column millrace.consumers.stream is 'The stream.';
comment on column millrace.consumers.consumer is 'The name of the consumer; names that differ in case or in a space are different.';
comment on column millrace.consumers.holder is 'The process that reads in its name, null while none does (take_consumer).';
comment on column millrace.consumers.lease_ends_at is 'From then on another process may take it (take_consumer), null while none holds it.';
comment on column millrace.consumers.saved_offset is 'The last event that is done; only grows. Null: nothing was saved yet.';
comment on column millrace.consumers.token is 'Grows with every take; each write of a holder is guarded by it.';
comment on constraint {{consumers_lease}} on millrace.consumers is 'Who holds a consumer holds it until some instant.';
comment on index millrace.consumers_pkey is 'By name.';

-- Its own transaction, always: it holds the stream's row only until it returns, so a stream waits
-- for no process. It is plpgsql since each statement in it must see what was committed before it
-- began: a head that was read before the lock was had would give offsets twice.
create function millrace.sequence_events(
  of_stream text,
  after_place bigint,
  most integer,
  at_instant timestamptz,
  is_announced boolean,
  out moved integer,
  out skipped boolean,
  out head bigint,
  out head_place bigint
)
language plpgsql
as $body$
declare
  added integer := 0;
begin
  moved := 0;
  skipped := false;
  select e.event_offset, e.place into head, head_place
  from millrace.events e
  where e.stream = of_stream
  order by e.event_offset desc
  limit 1;
  -- Read only while there is nothing to do: no lock, no transaction id.
  if not exists (
    select from millrace.event_inbox i
    where i.stream = of_stream and i.place > after_place
  ) then
    head := coalesce(head, 0);
    head_place := coalesce(head_place, 0);
    return;
  end if;
  perform from millrace.streams s where s.stream = of_stream for update skip locked;
  if not found then
    insert into millrace.streams as s (stream, created_at)
    values (of_stream, at_instant)
    on conflict on constraint {{streams_pkey}} do nothing;
    if not found then
      skipped := true;
      head := coalesce(head, 0);
      head_place := coalesce(head_place, 0);
      return;
    end if;
  end if;

  -- Again: whoever had the lock until now has committed, and this statement sees it.
  select e.event_offset, e.place into head, head_place
  from millrace.events e
  where e.stream = of_stream
  order by e.event_offset desc
  limit 1;
  head := coalesce(head, 0);
  head_place := coalesce(head_place, 0);

  with due as materialized (
    select i.ctid as tid
    from millrace.event_inbox i
    where i.stream = of_stream and i.place > after_place
    order by i.place
    limit most
  ),
  gone as (
    delete from millrace.event_inbox i
    where i.ctid = any (array(select due.tid from due))
    returning i.place, i.id, i.key, i.data, i.published_at
  ),
  fresh as materialized (
    select f.place, row_number() over (order by f.place) as nth
    from (select g.id, min(g.place) as place from gone g group by g.id) f
    where (
      select 1 from millrace.events e where e.stream = of_stream and e.id = f.id limit 1
    ) is null
  ),
  added_events as (
    insert into millrace.events (stream, event_offset, place, id, key, data, published_at)
    select of_stream, head + f.nth, g.place, g.id, g.key, g.data, g.published_at
    from gone g
    join fresh f on f.place = g.place
    returning 1
  )
  select (select count(*) from gone), (select count(*) from added_events), coalesce(max(f.place), head_place)
  into moved, added, head_place
  from fresh f;
  head := head + added;
  if is_announced and added > 0 then
    perform pg_notify('{{channel}}', 'sequenced ' || head || ' ' || of_stream);
  end if;
end
$body$;

comment on function millrace.sequence_events(text, bigint, integer, timestamptz, boolean) is 'Gives offsets to events of one stream that were published, from a place in the inbox on; skipped says that another session is at it. Never call it in a transaction.';
