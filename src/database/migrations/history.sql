-- Which migrations this namespace has. Made together with the first one; this file has no number
-- because it cannot be recorded in what it makes, and it is never changed: a release of any age
-- must be able to read the history of a database of any age.

create table millrace.migrations (
  id integer not null,
  name text collate "C" not null,
  checksum text collate "C" not null,
  compatible_from integer not null,
  applied_at timestamptz not null,
  release text collate "C",
  constraint {{migrations_pkey}} primary key (id)
);

comment on table millrace.migrations is 'One row for each migration applied, written in its transaction (record_migration) and read by every start check (migration_history).';
comment on column millrace.migrations.id is 'The number its file begins with.';
comment on column millrace.migrations.name is 'Its file.';
comment on column millrace.migrations.checksum is 'SHA-256 of the file as released, before the namespace was put in: a file edited afterwards is found by it.';
comment on column millrace.migrations.compatible_from is 'A release works with the database after this migration if the newest migration it knows has this number or a higher one; an older release refuses.';
comment on column millrace.migrations.applied_at is 'When it was applied.';
comment on column millrace.migrations.release is 'The release that applied it; null when another tool ran the exported file.';
comment on index millrace.migrations_pkey is 'Each migration once: of two runs that met, one fails.';
