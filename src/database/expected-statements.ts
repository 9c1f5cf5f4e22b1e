/**
 * The types of every statement's parameters and columns, as the server describes them on what the
 * migrations make. Written by `npx vitest run test/database/verify.test.ts -u`, never by hand.
 */
export const EXPECTED_STATEMENTS: Readonly<Record<string, string>> = {
  announce_ends: 'text → integer',
  announce_rerun: 'text → integer',
  announce_waits: 'text, text, text → integer',
  append_rollups: 'text, text → integer',
  bound_transaction: 'text → text, integer',
  break_lock: 'text, text, boolean → text',
  cancel_jobs: 'text, text, text, text, text, text → text, text, text, integer, text',
  cancelled_runs: 'text → text, integer, text',
  claim_handles:
    'text, text, integer, text, double precision → text, integer, text, text, integer, integer, double precision, double precision, double precision, text, text, text',
  claim_jobs:
    'text, text, integer, text → text, integer, text, text, integer, integer, double precision, double precision, double precision, text, text, text',
  claim_jobs_within_caps:
    'text, text, integer, text → text, integer, text, text, integer, integer, double precision, double precision, double precision, text, text, text',
  clean_up_finished: 'text, text, text, text, integer, text → integer, integer, text, text',
  count_finished: 'text, text, text, text, integer, text → integer, integer, text, text',
  described_statement: '→ text',
  end_transaction: 'integer → boolean',
  ended_jobs: 'text → text',
  enqueue_jobs: 'text, text, text → text',
  enqueued_jobs: 'text, text → text',
  expire_jobs: 'text, text → text, text, text, integer',
  expired_jobs: 'text, integer → text, text',
  explain_job:
    'text, text, text → text, text, text, text, double precision, double precision, text, text, text, double precision, double precision, double precision, double precision, double precision, double precision, double precision, double precision, double precision, double precision, double precision, double precision, double precision, double precision',
  extend_lease: 'text, double precision, text, integer, text → double precision',
  force_cancel_jobs: 'text, text, text, text, text, text → text, text, text, integer, text',
  forget_worker: 'text → text',
  get_job:
    'text, text → text, text, text, integer, text, text, text, text, double precision, text, double precision, text, integer, integer, text, double precision, boolean, double precision, text, double precision, double precision, double precision, double precision, double precision, double precision, double precision, text, text, text, text, text, text',
  held_leases: 'text, text → text, integer, double precision',
  held_locks: 'text, text → text, text, double precision',
  job_journal_newest:
    'text, text, text, integer → text, text, double precision, text, integer, integer, text, double precision, double precision, text, text, text, text, text, text, text, text, text',
  job_journal_oldest:
    'text, text, text, integer → text, text, double precision, text, integer, integer, text, double precision, double precision, text, text, text, text, text, text, text, text, text',
  job_stats:
    'text, text, text → text, text, double precision, double precision, double precision, double precision, double precision, double precision, double precision, double precision, double precision, double precision, boolean, boolean, boolean, double precision, double precision, double precision',
  lapsed_leases:
    'text, text, integer → text, integer, text, text, integer, double precision, double precision, text',
  leave_lock: 'text, text → text',
  limit_lock_wait: '→ text',
  limit_migration: 'text → text',
  list_jobs_newest:
    'text, text, text, integer, text, text, text, text, text, text, text, text, text, integer, text → integer, text, text, text, text, integer, text, text, text, text, double precision, text, double precision, text, integer, integer, text, double precision, boolean, double precision, text, double precision, double precision, double precision, double precision, double precision, double precision, double precision, text, text, text, text, text, text',
  list_jobs_oldest:
    'text, text, text, integer, text, text, text, text, text, text, text, text, text, integer, text → integer, text, text, text, text, integer, text, text, text, text, double precision, text, double precision, text, integer, integer, text, double precision, boolean, double precision, text, double precision, double precision, double precision, double precision, double precision, double precision, double precision, text, text, text, text, text, text',
  list_locks:
    'text, text, integer → text, text, double precision, double precision, double precision, integer',
  list_queues: '→ text, double precision',
  live_catalogue: 'text, json, text → text, text, text, boolean',
  lock_key: 'text, text → integer',
  lock_lease: 'text, integer, text → integer',
  lock_living_lease: 'text, integer, text, text → integer',
  lock_migrations: 'bigint → text',
  look_at_key:
    'text, text, text, text → text, double precision, text, text, double precision, text, text, text, text, integer, integer, text, text',
  look_before_marks: 'text, text → text, integer, integer, double precision, text',
  matching_jobs:
    'text, text, text, integer, text, text, text, text, text, text, text, text, text, integer → integer, text, text',
  merge_into_key:
    'text, text, text, text, double precision, text, double precision, text, text, text, text, text → text',
  merged_asks: 'text, text → text',
  migration_history: '→ integer, text, text, integer, double precision, text',
  next_due: 'text, text → double precision',
  notify_channel: 'text, text → integer',
  notify_events: 'text → integer',
  pause_queue: 'text, text, boolean → text',
  place_independent: 'text, text, text, text → text',
  place_keyed: 'text, text, text, text → text',
  places_of_jobs: 'text → text, text',
  prune_jobs: 'text, integer → integer',
  prune_lock_waiters: 'text, integer → integer',
  prune_locks: 'text, integer → integer',
  prune_rollups: 'text, integer → integer',
  prune_throttles: 'text, integer → integer',
  read_queues: '→ text, double precision, text',
  record_migration: 'integer, text, text, integer, timestamp with time zone, text →',
  recover_runs: 'text, text, text, text, text → text, integer, text, text, text, text, text',
  redrive_jobs: 'text, text, text, text, text → text',
  release_locks: 'text, text, boolean → text, text',
  release_reruns: 'text, text → integer, boolean',
  release_reruns_of: 'text, text, text → integer, boolean',
  renew_leases: 'text, text, text → text, integer, double precision',
  renew_locks: 'text, text → text, text, double precision',
  reschedule_jobs: 'text, text, text, text, double precision, integer, text, text → text',
  resume_queue: 'text, boolean → text',
  sample_clock: '→ double precision',
  save_carry: 'text, integer, text, text → text',
  save_progress: 'text, text → text',
  set_queue_defaults: 'text, text, boolean → text',
  settle_run: 'text, text, text, text, text → text, integer, text, text, text, text, text',
  settle_runs: 'text, text, text, text, text → integer, text, text',
  settled_runs: 'text, text → text, integer',
  stray_leases:
    'text, text → text, integer, text, text, integer, double precision, double precision, text',
  take_lock:
    'text, text, text, text, double precision, text, text, text → double precision, double precision, double precision, integer',
  tell_worker: 'text, text, text, text, integer, integer, text, text → text',
  throttle_ask: 'text, text, double precision, text, text → text, boolean, double precision',
  trim_journal: 'text, integer, integer → integer, text',
  waiting_levels: 'text, text → text, integer',
}
