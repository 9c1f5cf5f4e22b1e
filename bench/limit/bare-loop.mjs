// The limit: the statements of the built package in bare loops, with nothing of Millrace around
// them. No leases are renewed, nothing retried, no slot counted, no event told. What a worker and a
// producer reach of this is what their machinery costs.
import { migrations } from 'millrace'
import { Client } from 'pg'
import { monotonicFactory } from 'ulid'

// Not part of the package's exports: the very statements, whatever they are at the moment.
const built = (path) => import(new URL(`../../dist/${path}`, import.meta.url))
const { enqueueAlikeJobs } = await built('jobs/enqueue-statements.js')
const { claimJobs } = await built('worker/claim-statements.js')
const { completeAlikeRuns } = await built('worker/complete-statements.js')
const { namespace } = await built('database/namespace.js')
const { bind } = await built('database/statement.js')
const { PLAN_SETTINGS } = await built('database/database.js')

const ulid = monotonicFactory()
const PLACE = namespace()
const KIND = 'noop'
const QUEUE = 'default'
const LEVEL = 5
const LEASE_MS = 60_000
const ALIKE = {
  kind: KIND,
  queue: QUEUE,
  priority: LEVEL,
  options: null,
  lease_ms: LEASE_MS,
  delay_ms: null,
  due_at: null,
  expires_after_ms: null,
  expires_at: null,
}
const KEEP_MS = 7 * 24 * 3_600_000
const WORKER = 'bare-loop'
const CLAIM = 500
const ENQUEUE = 1_000
// Runs whose settlement is not back yet: as much as both connections can have under way.
const LARGEST_BACKLOG = 2_000
const FROM_THE_START = { mark_due: '-infinity', mark_id: '' }
const POLL_MS = 1_000
const HINT_WITHIN_MS = 30_000

export async function open({ url }) {
  const tables = migrations(url)
  await tables.up()
  await tables.close()
  const asks = await connect(url)
  const enqueueMany = bulkEnqueue(asks)
  return {
    enqueue: (data) => run(asks, enqueueAlikeJobs, askParams([data])),
    enqueueMany,
    work: (onJob) => startLoops(url, onJob),
    close: () => asks.end(),
  }
}

async function connect(url) {
  const options = Object.entries(PLAN_SETTINGS).map(([name, value]) => `-c ${name}=${value}`)
  const client = new Client({ connectionString: url, options: options.join(' ') })
  await client.connect()
  return client
}

async function run(client, statement, params) {
  const { name, text, values } = bind(statement, { now: instant(), ...params }, PLACE)
  const { rows } = await client.query({ name, text, values })
  return rows
}

const instant = (plusMs = 0) => new Date(Date.now() + plusMs).toISOString()

function bulkEnqueue(client) {
  return async (list) => {
    let sent = Promise.resolve()
    for (let start = 0; start < list.length; start += ENQUEUE) {
      // The next text is made while the last statement is in flight.
      const params = askParams(list.slice(start, start + ENQUEUE))
      await sent
      sent = run(client, enqueueAlikeJobs, params)
    }
    await sent
  }
}

function askParams(list) {
  const asks = list.map((data) => ({ id: ulid(), payload: JSON.stringify(data) }))
  return { ...ALIKE, asks: JSON.stringify(asks), hint_until: instant(HINT_WITHIN_MS) }
}

/** Claims on one connection overlap with settlements on another; a third one listens. */
async function startLoops(url, onJob) {
  const [claims, settles, listener] = await Promise.all([connect(url), connect(url), connect(url)])
  const state = {
    ran: [],
    isStopped: false,
    isClaimed: false,
    wake: () => {},
    onRan: () => {},
    onSettled: () => {},
  }
  listener.on('notification', () => state.wake())
  await listener.query(`listen "${PLACE.channel}"`)
  const claiming = claimLoop(claims, state, onJob)
  const settling = settleLoop(settles, state)
  return async () => {
    state.isStopped = true
    state.wake()
    await claiming
    state.isClaimed = true
    state.onRan()
    await settling
    await Promise.all([claims.end(), settles.end(), listener.end()])
  }
}

async function claimLoop(client, state, onJob) {
  let mark = FROM_THE_START
  while (!state.isStopped) {
    // Asked for before the claim, so that a notification during it is not missed.
    const woken = wakening(state)
    const jobs = await run(client, claimJobs, claimParams(mark))
    for (const { job_id: id, payload } of jobs) {
      onJob(JSON.parse(payload))
      state.ran.push(id)
    }
    state.onRan()
    mark = markAfter(jobs)
    if (jobs.length === 0) await woken
    while (state.ran.length > LARGEST_BACKLOG) {
      await new Promise((resolve) => {
        state.onSettled = resolve
      })
    }
  }
}

async function settleLoop(client, state) {
  while (!state.isClaimed || state.ran.length > 0) {
    if (state.ran.length === 0) {
      await new Promise((resolve) => {
        state.onRan = resolve
      })
      continue
    }
    const ids = `{${state.ran.splice(0, CLAIM).join(',')}}`
    await run(client, completeAlikeRuns, { ids, run: 1, keep_ms: KEEP_MS, worker: WORKER })
    state.onSettled()
  }
}

function wakening(state) {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, POLL_MS)
    state.wake = () => {
      clearTimeout(timer)
      resolve()
    }
  })
}

/** Only this worker claims: all before the last of a full claim is taken. */
function markAfter(jobs) {
  if (jobs.length < CLAIM) return FROM_THE_START
  const last = jobs.reduce((a, b) => (isBefore(a, b) ? b : a))
  return { mark_due: new Date(last.due_at).toISOString(), mark_id: last.job_id }
}

function isBefore(one, other) {
  return one.due_at === other.due_at ? one.job_id < other.job_id : one.due_at < other.due_at
}

function claimParams(mark) {
  const probe = {
    turn: 0,
    queue: QUEUE,
    level: LEVEL,
    lane: 0,
    kinds: [KIND],
    ...mark,
    most: CLAIM,
    lane_most: CLAIM,
    queue_most: CLAIM,
  }
  return { probes: JSON.stringify([probe]), most: CLAIM, worker: WORKER }
}
