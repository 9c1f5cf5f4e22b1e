import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { open } from 'millrace'
import { expect, test } from 'vitest'
import { watchConnections } from '../support/connection-watch.ts'
import { startServer } from '../support/postgres-server.ts'
import { runSql } from '../support/sql.ts'
import { until } from '../support/until.ts'
import { startProcess } from '../torture/process.ts'
import type { TortureProcess } from '../torture/process.ts'
import { seededRandom } from '../torture/random.ts'
import { plainTask, task } from '../torture/task.ts'
import type { WorkerSettings } from '../torture/worker-process.ts'

const PROCESSES = 6
const SLOTS = 50
const JOBS = 12_000
// So long that one process alone is not done before the last one has started.
const TASK_MS = 60
// One each to claim, to settle, to renew, to maintain, to append counts and to listen; for a moment one
// that checks the tables and one that proves that hints arrive. However many slots there are.
const MOST_OF_A_PROCESS = 8

const first = Array.from({ length: PROCESSES }, (_, number) => `first_${number}`)
const second = Array.from({ length: PROCESSES }, (_, number) => `second_${number}`)

test('replays 28: six processes of 50 slots that restart together on 100 connections use a few each', async () => {
  await using server = await startServer({ settings: { max_connections: '100' } })
  const url = await server.createDatabase('restart')
  const mill = await open(url, { migrate: 'auto', logger: false })
  const watch = await watchConnections(url, [...first, ...second])
  const logs = mkdtempSync(join(tmpdir(), 'millrace-restart-'))
  const started: TortureProcess[] = []

  // All at the same moment, each with a role of its own.
  async function start(roles: readonly string[]): Promise<readonly TortureProcess[]> {
    const crew = await Promise.all(roles.map((role) => startProcess(PROGRAM, settings(role))))
    started.push(...crew)
    return crew
  }
  function settings(role: string): WorkerSettings {
    const own = new URL(url)
    own.username = role
    return { url: own.href, log: join(logs, `${role}.log`), concurrency: SLOTS }
  }

  try {
    await mill.enqueueMany(
      task,
      Array.from({ length: JOBS }, (_, number) => ({
        ...plainTask(number, seededRandom(number)),
        ms: TASK_MS,
      })),
    )
    const before = await start(first)
    await until(async () => (await workersAtWork(url)) === PROCESSES, { ms: 60_000 })
    await Promise.all(before.map((worker) => worker.terminate()))
    expect(await left(url)).toBeGreaterThan(0)
    const after = await start(second)
    await until(async () => (await left(url)) === 0, { ms: 60_000, every: 100 })
    await Promise.all(after.map((worker) => worker.terminate()))
    await watch.end()

    expect([...watch.most.keys()].toSorted()).toEqual([...first, ...second].toSorted())
    for (const connections of watch.most.values()) {
      expect(connections).toBeLessThanOrEqual(MOST_OF_A_PROCESS)
    }
    expect(watch.mostTogether).toBeLessThanOrEqual(PROCESSES * MOST_OF_A_PROCESS)
  } finally {
    await Promise.all(started.map((worker) => worker.kill()))
    await watch.end()
    await mill.close()
    rmSync(logs, { recursive: true, force: true })
  }
}, 180_000)

const PROGRAM = 'worker-process.ts'

/** How many workers have ended a job. */
async function workersAtWork(url: string): Promise<number> {
  const [row] = await runSql(
    url,
    'select count(distinct worker)::int as workers from millrace.finished',
  )
  return Number(row?.['workers'])
}

async function left(url: string): Promise<number> {
  const [row] = await runSql(
    url,
    `select ((select count(*) from millrace.ready) + (select count(*) from millrace.leases))::int as jobs`,
  )
  return Number(row?.['jobs'])
}
