import { afterAll, beforeAll } from 'vitest'
import type { Engine } from '../../src/database/database.ts'
import { type Bench, OPTIONS } from './bench.ts'
import { errorConformance } from './conformance-errors.ts'
import { listeningConformance } from './conformance-listening.ts'
import { queryConformance } from './conformance-queries.ts'
import { transactionConformance } from './conformance-transactions.ts'
import { valueConformance } from './conformance-values.ts'

/** What is held to the suite: an engine on an empty database of its own. */
export interface Subject {
  readonly engine: Engine
  close(): Promise<void>
}

/** What every database library has to do for Millrace. */
export function conformance(setup: () => Promise<Subject>): void {
  let subject: Subject
  let bench: Bench

  // A first PGlite is seconds of work for the processor, and a busy machine has many.
  beforeAll(async () => {
    subject = await setup()
    const session = await subject.engine.connect(OPTIONS)
    await session.execute('create table public.taken (id int4 primary key, note text)')
    bench = { engine: subject.engine, session }
  }, 120_000)
  afterAll(async () => {
    await bench.session.close()
    await subject.close()
  })

  const current = () => bench
  valueConformance(current)
  queryConformance(current)
  errorConformance(current)
  transactionConformance(current)
  listeningConformance(current)
}
