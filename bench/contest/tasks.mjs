// What a child does with its contender: the same for all of them.
import { setTimeout as pause } from 'node:timers/promises'
import { waitsInSlices } from './waits.mjs'

// Until listeners are proven and statements prepared.
const WARM_UP = 25
const TICK_MS = 10
// How long a consumer goes on after the last job was enqueued.
const DRAIN_WITHIN = 20_000
const SLICES = 5

export const tasks = { bulk, singles, drain, latency, produce, consume, idle }

/** Milliseconds that processes of one machine agree on. */
const now = () => performance.timeOrigin + performance.now()

function listOf(count, start = 0) {
  return Array.from({ length: count }, (_, index) => ({ number: start + index, at: 0 }))
}

async function bulk(contender, { count }, measured) {
  await contender.enqueueMany(listOf(1))
  const list = listOf(count - 1, 1)
  await measured.begin()
  const start = performance.now()
  await contender.enqueueMany(list)
  const elapsedMs = performance.now() - start
  await measured.end()
  return { jobs: list.length, elapsedMs }
}

async function singles(contender, { count, inFlight }, measured) {
  await Promise.all(listOf(inFlight).map((data) => contender.enqueue(data)))
  let next = 0
  async function caller() {
    while (next < count) {
      next += 1
      await contender.enqueue({ number: next, at: 0 })
    }
  }
  await measured.begin()
  const start = performance.now()
  await Promise.all(Array.from({ length: inFlight }, caller))
  const elapsedMs = performance.now() - start
  await measured.end()
  return { jobs: count, elapsedMs }
}

/**
 * From the first handler call to the last. The jobs of the first call do not count: where a call
 * has thousands of them, they were claimed before the clock started.
 */
async function drain(contender, { count, limitMs }, measured) {
  const seen = { jobs: 0, ofFirst: 0, first: 0, last: 0, timed: 0 }
  const done = new AbortController()
  await measured.begin()
  const stop = await contender.work((_data, ofCall = 1) => {
    seen.jobs += 1
    if (seen.timed === count) return
    seen.last = performance.now()
    if (seen.timed === 0) Object.assign(seen, { first: seen.last, ofFirst: ofCall })
    seen.timed += 1
    if (seen.timed === count) done.abort()
  })
  await pause(limitMs, undefined, { signal: done.signal }).catch(() => {})
  await stop()
  await measured.end()
  const timed = seen.timed - seen.ofFirst
  return { jobs: seen.jobs, timed, elapsedMs: seen.last - seen.first }
}

/** Enqueue and worker in one process, so that one clock times both; almost always idle. */
async function latency(contender, { count, everyMs }, measured) {
  const waits = waitsInSlices(1)
  let handled = 0
  const stop = await contender.work(({ number, at }) => {
    handled += 1
    if (number >= WARM_UP) waits.add(now() - at, 0)
  })
  await measured.begin()
  for (let number = 0; number < count + WARM_UP; number += 1) {
    await Promise.all([contender.enqueue({ number, at: now() }), pause(everyMs)])
  }
  while (handled < count + WARM_UP) await pause(everyMs)
  await measured.end()
  await stop()
  return { jobs: count, p50: waits.at(0.5), p99: waits.at(0.99) }
}

/**
 * A steady rate in small batches. A job's instant is the one it should have had: a producer that
 * was held up does not hide what its jobs waited.
 */
async function produce(contender, { rate, forMs }, measured) {
  await measured.told('start')
  const start = now()
  let sent = 0
  for (let elapsed = 0; elapsed < forMs; elapsed = now() - start) {
    const due = Math.floor((Math.min(elapsed, forMs) * rate) / 1_000) - sent
    const first = sent
    const batch = listOf(due, first).map(({ number }) => ({
      number,
      at: start + (number * 1_000) / rate,
    }))
    sent += due
    await Promise.all([due > 0 ? contender.enqueueMany(batch) : undefined, pause(TICK_MS)])
  }
  return { jobs: sent, elapsedMs: now() - start }
}

async function consume(contender, { forMs }, measured) {
  const waits = waitsInSlices(SLICES)
  let handled = 0
  let start = 0
  const stop = await contender.work(({ at }) => {
    handled += 1
    // Those that made the tables.
    if (at === 0) return
    if (start === 0) start = at
    waits.add(now() - at, Math.floor(((at - start) / forMs) * SLICES))
  })
  await measured.begin()
  const { produced } = await measured.told('produced')
  const backlog = produced - handled
  const end = performance.now()
  while (handled < produced && performance.now() < end + DRAIN_WITHIN) await pause(TICK_MS)
  await measured.end()
  await stop()
  const early = waits.at(0.5, 0)
  const late = waits.at(0.5, SLICES - 1)
  const missing = produced - handled
  return { jobs: handled, p50: waits.at(0.5), p99: waits.at(0.99), early, late, backlog, missing }
}

async function idle(contender, { forMs, settleMs }, measured) {
  const stop = await contender.work(() => {})
  // What starting needs is over then.
  await pause(settleMs)
  await measured.begin()
  await pause(forMs)
  await measured.end()
  await stop()
  return { jobs: 0, elapsedMs: forMs }
}
