/**
 * The types of every statement's parameters and columns, as the server describes them on what the
 * migrations make. Written by `npx vitest run test/database/verify.test.ts -u`, never by hand.
 */
export const EXPECTED_STATEMENTS: Readonly<Record<string, string>> = {
  announce_ends: 'text → integer',
  announce_rerun: 'text → integer',
  announce_waits: 'text, text, text → integer',
  append_rollups: 'text, text → integer',
  await_schedule: 'text → text',
  begin_fire:
    'text → text, text, text, text, text, text, text, text, integer, double precision, double precision, text, double precision',
  bound_transaction: 'text → text, integer, text',
  break_lock: 'text, text, boolean → text',
  cancel_jobs: 'text, text, text, text, text, text → text, text, text, integer, text',
  cancelled_runs: 'text → text, integer, text',
  claim_handles:
    'text, text, integer, text, double precision → text, integer, text, text, integer, integer, double precision, double precision, double precision, text, text, text',
  claim_jobs:
    'text, text, integer, text → text, integer, text, text, integer, integer, double precision, double precision, double precision, text, text, text',
  claim_jobs_within_caps:
    'text, text, integer, text → text, integer, text, text, integer, integer, double precision, double precision, double precision, text, text, text',
  clean_up_finished: 'text, integer, text, text, text → integer, integer, text',
  complete_alike_runs: 'text[], integer, text, text, double precision → integer, text, text',
  complete_runs: 'text, text, text → integer, text, text',
  count_finished: 'text, integer, text, text, text → integer, integer, text',
  described_statement: '→ text',
  end_transaction: 'integer, text → boolean',
  ended_heads: 'text, text, integer → text, integer, text, text',
  ended_jobs: 'text → text',
  enqueue_alike_jobs:
    'text, text, text, double precision, text, double precision, text, text, smallint, text, bigint, text → integer',
  enqueue_jobs: 'text, text, text → integer',
  enqueue_missing_jobs: 'text, text, text → text',
  enqueue_starting_jobs: 'text, text, text → integer',
  enqueued_jobs: 'text, text → text',
  event_offset_of: 'text, text → double precision',
  expire_jobs: 'text, text → text, text, text, integer',
  expired_jobs: 'text, integer → text, text',
  explain_job:
    'text, text, text → text, text, text, text, double precision, double precision, text, text, text, boolean, text, double precision, double precision, double precision, double precision, double precision, double precision, double precision, double precision, double precision, double precision, double precision, double precision, double precision, double precision',
  extend_lease: 'text, double precision, text, integer, text → double precision',
  fire_schedules: 'text, text, text → text, text, text, text',
  first_event_since: 'text, double precision, integer, text → double precision, double precision',
  force_cancel_jobs: 'text, text, text, text, text, text → text, text, text, integer, text',
  forget_messages: 'text, integer → integer, text',
  forget_worker: 'text → text',
  get_job:
    'text, text → text, text, text, integer, text, text, text, text, double precision, text, double precision, text, integer, integer, text, double precision, boolean, double precision, text, double precision, double precision, double precision, double precision, double precision, double precision, double precision, text, text, text, text, text, text',
  get_schedule:
    'text → text, text, text, text, text, text, text, text, double precision, integer, boolean, integer, double precision, double precision, text, double precision',
  halted_keys: 'text, integer → text, text, text, double precision, integer',
  held_leases: 'text, text → text, integer, double precision',
  held_locks: 'text, text → text, text, double precision',
  job_journal_newest:
    'text, text, text, integer → text, text, double precision, text, integer, integer, text, double precision, double precision, text, text, text, text, text, text, text, text, text',
  job_journal_oldest:
    'text, text, text, integer → text, text, double precision, text, integer, integer, text, double precision, double precision, text, text, text, text, text, text, text, text, text',
  job_stats:
    'text, text, text → text, text, double precision, double precision, double precision, double precision, double precision, double precision, double precision, double precision, double precision, double precision, boolean, boolean, boolean, double precision, double precision, double precision',
  keep_consumer:
    'text, text, double precision, double precision, text, double precision → double precision',
  lapsed_leases:
    'text, text, integer → text, integer, text, text, integer, double precision, double precision, text',
  leave_lock: 'text, text → text',
  limit_lock_wait: '→ text',
  limit_migration: 'text → text',
  list_consumers: 'text, text → text, double precision, double precision, text',
  list_jobs_newest:
    'text, text, text, integer, text, text, text, text, text, text, text, text, text, integer, text → integer, text, text, text, text, integer, text, text, text, text, double precision, text, double precision, text, integer, integer, text, double precision, boolean, double precision, text, double precision, double precision, double precision, double precision, double precision, double precision, double precision, text, text, text, text, text, text',
  list_jobs_oldest:
    'text, text, text, integer, text, text, text, text, text, text, text, text, text, integer, text → integer, text, text, text, text, integer, text, text, text, text, double precision, text, double precision, text, integer, integer, text, double precision, boolean, double precision, text, double precision, double precision, double precision, double precision, double precision, double precision, double precision, text, text, text, text, text, text',
  list_locks:
    'text, text, integer → text, text, double precision, double precision, double precision, integer',
  list_queues: '→ text, double precision',
  list_schedules:
    '→ text, text, text, text, text, text, text, text, double precision, integer, boolean, integer, double precision, double precision, text, double precision',
  list_streams: '→ text, double precision, double precision, integer',
  live_catalogue: 'text, json, text → text, text, text, boolean',
  lock_key: 'text, text → integer',
  lock_lease: 'text, integer, text → integer',
  lock_living_lease: 'text, integer, text, text → integer',
  lock_migrations: 'bigint → text',
  look_at_consumer: 'text, text → double precision, double precision, text, double precision',
  look_at_key:
    'text, text, text, text → text, double precision, text, text, double precision, text, text, text, text, integer, integer, text, text',
  look_before_mark: 'text, double precision → double precision',
  look_before_marks: 'text, text → text, integer, integer, double precision, text',
  mark_fire: 'text, text, text, text → text',
  matching_jobs:
    'text, text, text, integer, text, text, text, text, text, text, text, text, text, integer → integer, text, text',
  merge_into_key:
    'text, text, text, text, double precision, text, double precision, text, text, text, text, text → text',
  merged_asks: 'text, text → text',
  migration_history: '→ integer, text, text, integer, double precision, text',
  move_consumer:
    'double precision, text, text, double precision, double precision → double precision',
  next_due: 'text, text → double precision',
  notify_channel: 'text, text → integer',
  notify_events: 'text → integer',
  open_transaction: 'integer, text → integer',
  pause_queue: 'text, text, boolean → text',
  pause_schedule: 'text, text, boolean → text',
  place_independent: 'text, text, text, text → text',
  place_keyed: 'text, text, text, text → text',
  places_of_jobs: 'text → text, text',
  prune_jobs: 'text, integer → integer',
  prune_lock_waiters: 'text, integer → integer',
  prune_locks: 'text, integer → integer',
  prune_rollups: 'text, integer → integer',
  prune_schedules: 'text, text, boolean → text',
  prune_throttles: 'text, integer → integer',
  publish_events: 'text, text, boolean → integer',
  read_events:
    'text, double precision, integer → double precision, text, text, text, double precision',
  read_events_of_key:
    'text, text, double precision, integer → double precision, text, text, text, double precision',
  read_queues: '→ text, double precision, text',
  record_migration: 'integer, text, text, integer, timestamp with time zone, text →',
  recover_runs: 'text, text, text, text, text → text, integer, text, text, text, text, text',
  redrive_jobs: 'text, text, text, text, text → text',
  register_schedule:
    'text, text, text, text, text, text, text, text, text, text, text, double precision, double precision, double precision, integer, integer, boolean, boolean → text',
  release_consumer: 'double precision, text, text, double precision, boolean → integer',
  release_locks: 'text, text, boolean → text, text',
  release_reruns: 'text, text → integer, boolean',
  release_reruns_of: 'text, text, text → integer, boolean',
  remove_schedule: 'text, boolean → text',
  renew_leases: 'text, text, text → text, integer, double precision',
  renew_locks: 'text, text → text, text, double precision',
  reschedule_jobs: 'text, text, text, text, double precision, integer, text, text → text',
  resume_queue: 'text, boolean → text',
  resume_schedule: 'text, text, integer, boolean → text',
  sample_clock: '→ double precision',
  save_carry: 'text, integer, text, text → text',
  save_offset: 'text, text, double precision → double precision, boolean',
  save_progress: 'text, text → text',
  send_messages: 'text, text, text → text',
  sequence_events:
    'text, double precision, integer, text, boolean → integer, boolean, double precision, double precision',
  set_queue_defaults: 'text, text, boolean → text',
  settle_run: 'text, text, text, text, text → text, integer, text, text, text, text, text',
  settle_runs: 'text, text, text, text, text → integer, text, text',
  settled_runs: 'text, text → text, integer',
  skip_halted: 'text, text, text → text',
  soonest_schedules:
    'text, integer → text, text, text, text, text, text, text, text, double precision, integer, boolean, integer, double precision, double precision, text, double precision',
  stray_leases:
    'text, text → text, integer, text, text, integer, double precision, double precision, text',
  stream_ends: 'text → double precision, double precision',
  take_consumer: 'text, text, text, text, double precision → double precision',
  take_lock:
    'text, text, text, text, double precision, text, text, text → double precision, double precision, double precision, integer',
  take_turns: 'integer, text, text, text → integer, integer, boolean, boolean',
  tell_worker: 'text, text, text, text, integer, integer, text, text → text',
  throttle_ask: 'text, text, double precision, text, text → text, boolean, double precision',
  trim_events:
    'text, double precision, double precision, integer, text → integer, double precision',
  trim_journal: 'text, integer, integer → integer, text',
  undeclared_schedules: 'text, text → text',
  waiting_levels: 'text, text → text, integer, integer',
  waiting_streams: '→ text',
}
