/** The application's own tables and the statements that write them. */
export const CREATE_TABLES: readonly string[] = [
  `create table {{deliveries}} (
    id text primary key,
    event text not null,
    body json not null,
    job_id text not null unique
  )`,
  `create table {{processed}} (
    delivery_id text primary key,
    repository text,
    sender text,
    sender_type text,
    headline text not null,
    commits integer not null,
    comments integer not null
  )`,
  `create table {{repositories}} (
    name text primary key,
    deliveries integer not null,
    commits integer not null,
    comments integer not null
  )`,
  `create table {{senders}} (
    login text primary key,
    type text not null,
    deliveries integer not null
  )`,
  `create table {{totals}} (
    event text primary key,
    deliveries integer not null,
    commits integer not null,
    comments integer not null
  )`,
]

/** $1 id, $2 event, $3 body, $4 job. */
export const STORE_DELIVERY = `
insert into {{deliveries}} (id, event, body, job_id)
values ($1, $2, $3, $4)`

/**
 * $1 delivery, $2 repository, $3 sender, $4 sender's type, $5 headline, $6 commits, $7 comments.
 *
 * To add is not repeatable, and a run may come twice: the process may die at any moment. So this is
 * written in the run's transaction, which commits together with the end of the job, or not at all.
 */
export const RECORD_ACTIVITY = `
with processed as (
  insert into {{processed}} (delivery_id, repository, sender, sender_type, headline, commits, comments)
  values ($1, $2, $3, $4, $5, $6, $7)
  returning repository, sender, sender_type, commits, comments
), repository as (
  insert into {{repositories}} as known (name, deliveries, commits, comments)
  select repository, 1, commits, comments
  from processed
  where repository is not null
  on conflict (name) do update
  set deliveries = known.deliveries + 1,
      commits = known.commits + excluded.commits,
      comments = known.comments + excluded.comments
)
insert into {{senders}} as known (login, type, deliveries)
select sender, sender_type, 1
from processed
where sender is not null
on conflict (login) do update
set deliveries = known.deliveries + 1`

/** $1 event, $2 commits, $3 comments: one event of the stream. */
export const ADD_TO_TOTALS = `
insert into {{totals}} as known (event, deliveries, commits, comments)
values ($1, 1, $2, $3)
on conflict (event) do update
set deliveries = known.deliveries + 1,
    commits = known.commits + excluded.commits,
    comments = known.comments + excluded.comments`

export const READ_TOTALS = `
select
  coalesce(sum(deliveries), 0)::integer as deliveries,
  coalesce(sum(commits), 0)::integer as commits,
  coalesce(sum(comments), 0)::integer as comments
from {{totals}}`
