// A holder of a lock in a process of its own, over the built package. Does what its parent says, one
// word a message, and tells what came of it.
import { open } from 'millrace'

const { url, schema, name, ttl } = JSON.parse(process.argv[2])
const tell = (what, facts = {}) => process.send?.({ what, ...facts })

process.on('disconnect', () => process.exit())
const mill = await open(url, { schema, logger: false })
let lock

process.on('message', (word) => void act(word))

async function act(word) {
  if (word === 'lock') {
    tell('waiting')
    lock = await mill.lock(name, { ttl })
    const { token, signal } = lock
    signal.addEventListener('abort', () => tell('lost', { code: signal.reason.code }))
    tell('held', { token })
  }
  if (word === 'renew') tell('renewed', { applied: await lock.renew() })
  if (word === 'release') tell('released', { applied: await lock.release() })
}

tell('ready')
