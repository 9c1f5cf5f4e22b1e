/**
 * What each migration made that still is as it made it. Written by
 * `npx vitest run test/database/expected-catalogue.test.ts -u`, never by hand.
 */
export const EXPECTED_CATALOGUE: Readonly<Record<number, Readonly<Record<string, string>>>> = {
  1: {
    'function enqueue':
      'kind text, payload json, queue text, priority integer, due_at timestamp with time zone, id text returns text',
    'index finished_pkey': 'primary key on finished using btree (job_id)',
    'index finished_prune': 'index on finished using btree (prune_at) WHERE (prune_at IS NOT NULL)',
    'index jobs_fires':
      'unique index on jobs using btree (schedule, boundary) WHERE (schedule IS NOT NULL)',
    'index jobs_pkey': 'primary key on jobs using btree (id)',
    'index journal_asked':
      'unique index on journal using btree (asked_id) WHERE (asked_id IS NOT NULL)',
    'index journal_job': 'index on journal using btree (job_id, id)',
    'index journal_pkey': 'primary key on journal using btree (id)',
    'index leases_cancel':
      'index on leases using btree (worker) WHERE (cancel_requested_at IS NOT NULL)',
    'index leases_end': 'index on leases using btree (lease_ends_at)',
    'index leases_key':
      'index on leases using btree (kind, dedup_key) WHERE (dedup_key IS NOT NULL)',
    'index leases_pkey': 'primary key on leases using btree (job_id)',
    'index migrations_pkey': 'primary key on migrations using btree (id)',
    'index ready_claim': 'index on ready using btree (queue, priority, due_at, job_id)',
    'index ready_expiry': 'index on ready using btree (expires_at) WHERE (expires_at IS NOT NULL)',
    'index ready_key':
      'unique index on ready using btree (kind, dedup_key, sibling) WHERE (dedup_key IS NOT NULL)',
    'index ready_pkey': 'primary key on ready using btree (job_id)',
    'table finished':
      'job_id text collate "C" not null; state text not null; kind text collate "C" not null; queue text collate "C" not null; finished_at timestamp with time zone not null; started_at timestamp with time zone; prune_at timestamp with time zone; run integer not null; failures integer not null; reason text; worker text collate "C"; recovered_by text collate "C"; decided_by text; why text; note text; attachment json; result json; error json',
    'table jobs':
      'id text collate "C" not null; kind text collate "C" not null; queue text collate "C" not null; payload json not null; priority smallint not null; created_at timestamp with time zone not null; dedup_key text collate "C"; options json; schedule text collate "C"; boundary timestamp with time zone',
    'table journal':
      'id bigint generated always as identity not null; job_id text collate "C" not null; at timestamp with time zone not null; started_at timestamp with time zone; due_at timestamp with time zone; run integer not null; failures integer not null; outcome text not null; reason text; worker text collate "C"; recovered_by text collate "C"; decided_by text; why text; decision text; asked_id text collate "C"; note text; attachment json; error json',
    'table leases':
      'job_id text collate "C" not null; worker text collate "C" not null; queue text collate "C" not null; kind text collate "C" not null; started_at timestamp with time zone not null; lease_ends_at timestamp with time zone not null; cancel_requested_at timestamp with time zone; due_at timestamp with time zone not null; expires_at timestamp with time zone; lease_ms bigint not null; run integer not null; failures integer not null; priority smallint not null; dedup_key text collate "C"',
    'table migrations':
      'id integer not null; name text collate "C" not null; checksum text collate "C" not null; compatible_from integer not null; applied_at timestamp with time zone not null; release text collate "C"',
    'table ready':
      'job_id text collate "C" not null; queue text collate "C" not null; kind text collate "C" not null; due_at timestamp with time zone not null; expires_at timestamp with time zone; lease_ms bigint not null; run integer not null; failures integer not null; priority smallint not null; reason text; dedup_key text collate "C"; sibling text collate "C" default \'\'::text not null',
    'view all_jobs':
      'id text collate "C"; kind text collate "C"; queue text collate "C"; state text; detail text; priority smallint; run integer; failures integer; due_at timestamp with time zone; expires_at timestamp with time zone; worker text collate "C"; started_at timestamp with time zone; lease_ends_at timestamp with time zone; finished_at timestamp with time zone; created_at timestamp with time zone; payload json; result json; last_error json',
    'view errors':
      'job_id text collate "C"; at timestamp with time zone; run integer; worker text collate "C"; outcome text; error json',
    'view timeline':
      'job_id text collate "C"; at timestamp with time zone; outcome text; run integer; failures integer; worker text collate "C"; started_at timestamp with time zone; due_at timestamp with time zone; reason text; recovered_by text collate "C"; decided_by text; why text; decision text; asked_id text collate "C"; note text; attachment json; error json; result json; entry bigint',
  },
  2: {
    'column leases.cancel_by': 'text',
    'column leases.cancel_why': 'text',
    'column leases.progress_done': 'double precision',
    'column leases.progress_total': 'double precision',
    'index carries_pkey': 'primary key on carries using btree (job_id)',
    'index queues_pkey': 'primary key on queues using btree (queue)',
    'index ready_rerun':
      "index on ready using btree (kind, dedup_key) WHERE (reason = 'rerun'::text)",
    'index rollups_pkey': 'primary key on rollups using btree (id)',
    'index rollups_time': 'index on rollups using btree (at)',
    'index throttles_pkey': 'primary key on throttles using btree (kind, dedup_key)',
    'index throttles_until': 'index on throttles using btree (until)',
    'index workers_pkey': 'primary key on workers using btree (worker)',
    'table carries': 'job_id text collate "C" not null; carry json not null',
    'table queues':
      'queue text collate "C" not null; paused_at timestamp with time zone; defaults json',
    'table rollups':
      'id bigint generated always as identity not null; at timestamp with time zone not null; queue text collate "C" not null; kind text collate "C" not null; enqueued integer not null; completed integer not null; failed integer not null',
    'table throttles':
      'kind text collate "C" not null; dedup_key text collate "C" not null; until timestamp with time zone not null; job_id text collate "C" not null',
    'table workers':
      'worker text collate "C" not null; started_at timestamp with time zone not null; seen_at timestamp with time zone not null; concurrency integer not null; busy integer not null; queues json not null; kinds json not null',
  },
  3: {
    'index lock_waiters_pkey': 'primary key on lock_waiters using btree (name, holder)',
    'index lock_waiters_seen': 'index on lock_waiters using btree (seen_at)',
    'index locks_end': 'index on locks using btree (expires_at)',
    'index locks_pkey': 'primary key on locks using btree (name)',
    'table lock_waiters':
      'name text collate "C" not null; holder text collate "C" not null; seen_at timestamp with time zone not null',
    'table locks':
      'name text collate "C" not null; holder text collate "C"; owner text not null; token bigint not null; acquired_at timestamp with time zone not null; expires_at timestamp with time zone not null; ttl_ms double precision not null',
  },
  4: {
    'column journal.boundary': 'timestamp with time zone',
    'column journal.schedule': 'text collate "C"',
    'index journal_fires':
      'unique index on journal using btree (schedule, boundary) WHERE (schedule IS NOT NULL)',
    'index schedules_due':
      'index on schedules using btree (next_fire_at) WHERE (paused_at IS NULL)',
    'index schedules_pkey': 'primary key on schedules using btree (schedule)',
    'table schedules':
      'schedule text collate "C" not null; kind text collate "C" not null; queue text collate "C" not null; payload json not null; options json; dedup_key text collate "C"; dedup json; merge text; cron text; timezone text; next_fire_at timestamp with time zone; last_fire_at timestamp with time zone; last_job_id text collate "C"; paused_at timestamp with time zone; lease_ms bigint not null; expires_after_ms bigint; every_ms bigint; catch_up integer not null; revision integer default 1 not null; priority smallint not null; skips_overlap boolean not null',
  },
  5: {
    'function sequence_events':
      'of_stream text, after_place bigint, most integer, at_instant timestamp with time zone, is_announced boolean, OUT moved integer, OUT skipped boolean, OUT head bigint, OUT head_place bigint returns record',
    'index consumers_pkey': 'primary key on consumers using btree (stream, consumer)',
    'index event_inbox_pkey': 'primary key on event_inbox using btree (stream, place)',
    'index events_id': 'unique index on events using btree (stream, id)',
    'index events_key':
      'index on events using btree (stream, key, event_offset) WHERE (key IS NOT NULL)',
    'index events_pkey': 'primary key on events using btree (stream, event_offset)',
    'index streams_pkey': 'primary key on streams using btree (stream)',
    'table consumers':
      'stream text collate "C" not null; consumer text collate "C" not null; holder text; lease_ends_at timestamp with time zone; saved_offset bigint; token bigint not null',
    'table event_inbox':
      'stream text collate "C" not null; place bigint generated always as identity not null; published_at timestamp with time zone not null; id text collate "C" not null; key text collate "C"; data json not null',
    'table events':
      'stream text collate "C" not null; event_offset bigint not null; place bigint not null; published_at timestamp with time zone not null; id text collate "C" not null; key text collate "C"; data json not null',
    'table streams':
      'stream text collate "C" not null; created_at timestamp with time zone not null',
  },
  6: {
    'function line_up_message': ' returns trigger',
    'index outbox_heads_pkey': 'primary key on outbox_heads using btree (kind, key)',
    'index outbox_inbox_pkey': 'primary key on outbox_inbox using btree (arrival)',
    'index outbox_line_order':
      'unique index on outbox_line using btree (kind, key, "position") WHERE (NOT is_over)',
    'index outbox_line_over': 'index on outbox_line using btree ("position") WHERE is_over',
    'index outbox_line_pkey': 'primary key on outbox_line using btree (job_id)',
    'table outbox_heads':
      'kind text collate "C" not null; key text collate "C" not null; job_id text collate "C" not null',
    'table outbox_inbox':
      'arrival bigint generated always as identity not null; job_id text collate "C" not null; kind text collate "C" not null; key text collate "C" not null; due_at timestamp with time zone not null; halts boolean not null',
    'table outbox_line':
      'position bigint generated always as identity not null; job_id text collate "C" not null; kind text collate "C" not null; key text collate "C" not null; due_at timestamp with time zone not null; halts boolean not null; is_over boolean default false not null',
  },
  7: {
    'index finished_dead':
      "index on finished using btree (finished_at) WHERE (state = 'dead'::text)",
  },
}
