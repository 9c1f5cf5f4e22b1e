// Workers that fire schedules by a virtual clock, which the parent moves. Over the built package, and
// below its doors: an application cannot give a client a clock of its own.
import { connect } from '../../dist/client.js'
import { manualClock } from '../../dist/core/manual-clock.js'
import { engineFor } from '../../dist/database/connect.js'
import { defineJob } from '../../dist/index.js'
import { openSettings } from '../../dist/open-options.js'

const { url, now, workers } = JSON.parse(process.argv[2])
const clock = manualClock(now)
const stranger = defineJob('stranger')
const keyed = defineJob('keyed', { dedup: 'k', merge: 'keep' })
const plain = defineJob('plain')

// Without its parent it has no reason to be.
process.on('disconnect', () => process.exit())
process.on('message', ({ to }) => clock.advance(Math.max(0, to - clock.now())))
for (let each = 0; each < workers; each += 1) {
  const mill = await connect(await engineFor(url), openSettings({ logger: false }, false), clock)
  // As an application does at every start: the same again changes nothing.
  const catchUp = { all: 1_000 }
  await mill.schedule('plain', { cron: '*/5 * * * * *', kind: plain, catchUp })
  await mill.schedule('keyed', { cron: '0 */5 * * * *', kind: keyed, catchUp })
  await mill
    .worker()
    .handle(stranger, () => undefined)
    .start()
}
process.send?.({ what: 'ready' })
