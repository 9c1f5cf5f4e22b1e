// One task of one contender, in a process of its own, so that memory and processor time are the
// contender's alone. Plain JavaScript over published packages: no loader or compiler of the bench
// is in what is measured. The parent reads the server's figures at the two ends of the window.
import { once } from 'node:events'
import { tasks } from './tasks.mjs'

/**
 * What a contender's module answers from `open({ url, mode })`. `data` is `{ number, at }`.
 *
 * @typedef {object} Contender
 * @property {(data: object) => Promise<unknown>} enqueue One job, committed when it resolves.
 * @property {(list: object[]) => Promise<unknown>} enqueueMany The fastest way it has, all committed.
 * @property {(onJob: (data: object, ofCall?: number) => void) => Promise<() => Promise<void>>} work
 *   Starts a worker, answers how to stop it: what it ran is recorded then. `ofCall`: how many jobs
 *   the handler call has, where it has several.
 * @property {() => Promise<void>} close
 */

const { module, mode, url, task, options } = JSON.parse(process.argv[2])

// Without its parent it has no reason to be.
process.on('disconnect', () => process.exit())
const inbox = []
process.on('message', (message) => inbox.push(message))

/** The next message of the parent with this name. */
async function told(name) {
  for (;;) {
    const index = inbox.findIndex((message) => message.told === name)
    if (index !== -1) return inbox.splice(index, 1)[0]
    await once(process, 'message')
  }
}

let cpuAtBegin = process.cpuUsage()
let nodeMs = 0

/** What is between its ends is what is measured. */
const measured = {
  async begin() {
    process.send({ mark: 'begin' })
    await told('go')
    cpuAtBegin = process.cpuUsage()
  },
  async end() {
    const { user, system } = process.cpuUsage(cpuAtBegin)
    nodeMs = (user + system) / 1_000
    process.send({ mark: 'end' })
    await told('go')
  },
  told,
}

const { open } = await import(module)
const contender = await open({ url, mode })
const result = await tasks[task](contender, options, measured)
// The highest that it ever was, as the system counted it.
const rssBytes = process.resourceUsage().maxRSS * 1_024
process.send({ result: { ...result, nodeMs, rssBytes } })
await contender.close()
process.exit()
