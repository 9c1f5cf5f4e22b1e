import { Pool } from 'pg'

/** The application's own tables beside those of `createOrders`: what was committed, and what came of it. */
export const OWN_TABLES = `
  create table asks_done (ask int not null, job text not null, run int not null);
  create table committed (stream text not null, id text not null);
  create table seen (
    n bigint generated always as identity, consumer text not null, stream text not null,
    event_offset bigint not null, id text not null
  );
  create schema post;
  create table post.committed (
    n bigint generated always as identity, key text not null, id text not null,
    xid xid8 not null, snapshot pg_snapshot not null
  );
  create table post.deliveries (
    n bigint generated always as identity, key text not null, id text not null, what text not null, process int not null
  )`

/** How long the application waits for an answer of the database. */
export const PATIENCE_MS = 5_000

/** The application's own connections: as patient as they should be, and soon made anew. */
export function ownPool(url: string, most: number): Pool {
  const pool = new Pool({
    connectionString: url,
    max: most,
    query_timeout: PATIENCE_MS,
    connectionTimeoutMillis: PATIENCE_MS,
  })
  pool.on('error', () => undefined)
  pool.on('connect', (client) => client.on('error', () => undefined))
  return pool
}
