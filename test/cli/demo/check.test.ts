import { Client } from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { serverApplication } from '../../../src/cli/demo/application.ts'
import { addsUp, check } from '../../../src/cli/demo/check.ts'
import type { Finding } from '../../../src/cli/demo/check.ts'
import { readEvidence } from '../../../src/cli/demo/evidence.ts'
import { readDeliveries } from '../../../src/cli/demo/payloads.ts'
import { placeOf } from '../../../src/cli/demo/place.ts'
import { processDeliveries } from '../../../src/cli/demo/process-deliveries.ts'
import { SILENT } from '../../../src/cli/demo/progress.ts'
import { RULES } from '../../../src/cli/demo/rules.ts'
import { prepare } from '../../../src/cli/demo/run-demo.ts'
import { freshDatabase } from '../../support/database.ts'
import type { FreshDatabase } from '../../support/database.ts'

const deliveries = readDeliveries()
const place = placeOf('demo', '')
let database: FreshDatabase

// One demo, whose tables every test spoils in a transaction that is rolled back.
beforeAll(async () => {
  database = await freshDatabase()
  const application = await serverApplication(database.url)
  try {
    await using mill = await prepare({ application, place })
    const signal = new AbortController().signal
    await processDeliveries({ mill, application, place, signal }, deliveries, SILENT)
  } finally {
    await application.close()
  }
}, 120_000)

afterAll(() => database.drop())

const STORED = 'every delivery is stored once, word for word'
const PAIRED = 'every delivery has one job, every job its delivery'
const ENDED = 'every job has ended, in one place'
const INPUT = 'every job still has the input it was given, to the letter'
const DEAD = 'one job is dead: the one that gave up'
const RUNS = 'every run is on record once'
const FAILURES = 'every failure is on record'
const EFFECT = 'every delivery that was processed took effect once'
const REPOSITORIES = 'the sums by repository match a recount of the payloads'
const SENDERS = 'the sums by sender match a recount of the payloads'
const TOTALS = 'the projection of the stream matches a recount of the payloads'

interface Planted {
  readonly what: string
  readonly spoil: string
  readonly rule: string
  readonly fault: string
}

const PLACE = 'job_id, queue, kind, due_at, lease_ms, run, failures, priority'
const PLANTED: readonly Planted[] = [
  {
    what: 'a delivery that is gone',
    spoil: `delete from demo_app.deliveries where id = (select max(id) from demo_app.deliveries)`,
    rule: STORED,
    fault: 'is missing',
  },
  {
    what: 'a body with another letter',
    spoil: `update demo_app.deliveries set body = replace(body::text, 'Hello', 'Hallo')::json
      where event = 'create'`,
    rule: STORED,
    fault: 'expected create',
  },
  {
    what: 'a job that nobody asked for',
    spoil: `select demo.enqueue('github.ping')`,
    rule: PAIRED,
    fault: 'is missing',
  },
  {
    what: 'a job that is lost',
    spoil:
      "delete from demo.finished where job_id = (select max(job_id) from demo.finished where kind <> 'running-totals')",
    rule: PAIRED,
    fault: 'should not be there',
  },
  {
    what: 'a job that never ended',
    spoil: `with moved as (delete from demo.finished where state = 'dead' returning *)
      insert into demo.ready (${PLACE})
      select job_id, queue, kind, now(), 60000, run, failures, 5 from moved`,
    rule: ENDED,
    fault: 'is pending',
  },
  {
    what: 'a job in two places',
    spoil: `insert into demo.ready (${PLACE})
      select job_id, queue, kind, now(), 60000, run, failures, 5 from demo.finished where kind <> 'running-totals' limit 1`,
    rule: ENDED,
    fault: 'is in several places',
  },
  {
    what: 'an input that changed',
    spoil: `update demo.jobs set payload = '{}' where id = (select max(id) from demo.jobs where kind <> 'running-totals')`,
    rule: INPUT,
    fault: 'another input',
  },
  {
    what: 'a second dead job',
    spoil: `update demo.finished set state = 'dead', reason = 'failed'
      where job_id = (select min(job_id) from demo.finished where state = 'completed')`,
    rule: DEAD,
    fault: 'should not be there',
  },
  {
    what: 'a job that gave up and is called completed',
    spoil: `update demo.finished set state = 'completed', reason = null where state = 'dead'`,
    rule: DEAD,
    fault: 'is missing',
  },
  {
    what: 'a job that is dead for another reason',
    spoil: `update demo.finished set reason = 'expired' where state = 'dead'`,
    rule: DEAD,
    fault: 'is expired, expected gave-up',
  },
  {
    what: 'a run that is not on record',
    spoil: 'delete from demo.journal where run = 1',
    rule: RUNS,
    fault: 'has begun 2 runs, on record: 2',
  },
  {
    what: 'a run that is on record twice',
    spoil: `insert into demo.journal (job_id, at, started_at, run, failures, outcome)
      select job_id, started_at, started_at, 1, 1, 'released' from demo.finished where run = 2`,
    rule: RUNS,
    fault: 'has begun 2 runs, on record: 1, 1, 2',
  },
  {
    what: 'a failure that is not on record',
    spoil: `update demo.finished set error = null where state = 'dead'`,
    rule: FAILURES,
    fault: 'counts 1 failures, on record: 0',
  },
  {
    what: 'an effect that is missing',
    spoil: `delete from demo_app.processed
      where delivery_id = (select min(delivery_id) from demo_app.processed)`,
    rule: EFFECT,
    fault: 'is missing',
  },
  {
    what: 'an effect that nothing asked for',
    spoil: `insert into demo_app.processed values ('stray', null, null, null, '', 0, 0)`,
    rule: EFFECT,
    fault: 'effect of delivery stray should not be there',
  },
  {
    what: 'a repository that was counted twice',
    spoil: `update demo_app.repositories set deliveries = deliveries + 1 where deliveries = 230`,
    rule: REPOSITORIES,
    fault: 'repository Codertocat/Hello-World is',
  },
  {
    what: 'a commit too few',
    spoil: 'update demo_app.repositories set commits = commits - 1 where commits > 0',
    rule: REPOSITORIES,
    fault: 'repository Codertocat/Hello-World is',
  },
  {
    what: 'a comment too many',
    spoil: 'update demo_app.repositories set comments = comments + 1 where comments = 0',
    rule: REPOSITORIES,
    fault: 'repository electron/electron is',
  },
  {
    what: 'a sender that is gone',
    spoil: `delete from demo_app.senders where login = 'octocat'`,
    rule: SENDERS,
    fault: 'sender octocat is missing',
  },
  {
    what: 'a sender of another type',
    spoil: `update demo_app.senders set type = 'Bot' where login = 'github'`,
    rule: SENDERS,
    fault: 'sender github is',
  },
  {
    what: 'an event that the projection added twice',
    spoil: `update demo_app.totals set deliveries = deliveries + 1 where event = 'push'`,
    rule: TOTALS,
    fault: 'projection of event push is',
  },
  {
    what: 'an event that the projection left out',
    spoil: `delete from demo_app.totals where event = 'star'`,
    rule: TOTALS,
    fault: 'projection of event star is missing',
  },
]

test('what a demo leaves adds up', async () => {
  const findings = await findingsAfter('select')
  expect(findings.flatMap(({ faults }) => faults)).toEqual([])
  expect(addsUp(findings)).toBe(true)
})

const NAMED = PLANTED.map((planted) => [planted.what, planted] as const)

test.each(NAMED)('planted in the tables: %s is found', async (_what, { spoil, rule, fault }) => {
  const findings = await findingsAfter(spoil)
  const broken = findings.find((finding) => finding.rule === rule)
  expect(broken?.faults.join('\n')).toContain(fault)
  expect(addsUp(findings)).toBe(false)
})

test('each rule has a planted fault that breaks it', () => {
  const broken = new Set(PLANTED.map(({ rule }) => rule))
  expect([...broken]).toEqual(RULES.map(({ rule }) => rule))
})

test('empty tables do not add up', async () => {
  const tables = ['jobs', 'ready', 'leases', 'finished', 'journal'].map((name) => `demo.${name}`)
  const own = ['deliveries', 'processed', 'repositories', 'senders', 'totals'].map(
    (name) => `demo_app.${name}`,
  )
  const findings = await findingsAfter(`truncate ${[...tables, ...own].join(', ')}`)
  expect(addsUp(findings)).toBe(false)
})

/** What the check finds in the tables once they are spoiled; the spoiling is undone. */
async function findingsAfter(spoil: string): Promise<readonly Finding[]> {
  const client = new Client({ connectionString: database.url })
  await client.connect()
  try {
    await client.query('begin')
    await client.query(spoil)
    const query = async <Row extends object>(
      text: string,
      values: readonly unknown[] = [],
    ): Promise<readonly Row[]> => (await client.query<Row>(text, [...values])).rows
    return check(await readEvidence({ query }, place), deliveries)
  } finally {
    // Ends the transaction as well.
    await client.end()
  }
}
