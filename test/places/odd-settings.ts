/** What a role or a database may have set, in the way of whoever relies on defaults. */
export const ODD_SETTINGS: readonly string[] = [
  `default_transaction_isolation = 'serializable'`,
  `default_transaction_deferrable = on`,
  `datestyle = 'German, DMY'`,
  `timezone = 'Asia/Kathmandu'`,
  `intervalstyle = 'sql_standard'`,
  `extra_float_digits = -15`,
  `bytea_output = 'escape'`,
  `xmlbinary = 'hex'`,
  `standard_conforming_strings = off`,
  `backslash_quote = on`,
  `quote_all_identifiers = on`,
  `transform_null_equals = on`,
  `array_nulls = off`,
  `row_security = off`,
  `check_function_bodies = off`,
  `client_encoding = 'LATIN1'`,
  `lc_messages = 'C'`,
  `enable_seqscan = on`,
  `enable_indexscan = off`,
  `enable_indexonlyscan = off`,
  `enable_sort = off`,
  `enable_hashjoin = off`,
  `enable_mergejoin = off`,
  `enable_nestloop = off`,
  `enable_material = off`,
  `from_collapse_limit = 1`,
  `join_collapse_limit = 1`,
  `geqo_threshold = 2`,
  `cursor_tuple_fraction = 1`,
  `constraint_exclusion = on`,
  `plan_cache_mode = 'force_generic_plan'`,
  `max_parallel_workers_per_gather = 4`,
  `jit = on`,
  `jit_above_cost = 0`,
  `work_mem = '64kB'`,
  `temp_buffers = '800kB'`,
  `statement_timeout = '50ms'`,
  `lock_timeout = '2s'`,
  `idle_in_transaction_session_timeout = '5s'`,
  `synchronous_commit = off`,
  `commit_delay = 1000`,
  `search_path = 'decoy'`,
]

/** Tables of our names and functions that fit our calls better than PostgreSQL's own, which fail. */
export const DECOYS: string = `
create schema decoy;
create table decoy.jobs (id text);
create table decoy.ready (job_id text);
create table decoy.leases (job_id text);
${[
  'unnest(text[]) returns setof text',
  'min(text) returns text',
  'max(text) returns text',
  'least(timestamptz, timestamptz) returns timestamptz',
  'greatest(timestamptz, timestamptz) returns timestamptz',
  'floor(bigint) returns bigint',
  'pg_notify(text, text) returns void',
  'cardinality(text[]) returns int',
  'array_length(text[], int) returns int',
  'jsonb_array_length(json) returns int',
  'json_array_elements(json) returns setof json',
  'set_config(text, text, boolean) returns text',
  'pg_advisory_xact_lock(bigint) returns void',
  'octet_length(text) returns int',
]
  .map(
    (each) =>
      `create function decoy.${each} language plpgsql as $$ begin raise exception 'decoy'; end $$;`,
  )
  .join('\n')}`
