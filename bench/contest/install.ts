import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'

const FOLDER = fileURLToPath(new URL('../peers', import.meta.url))

/** Installs the peers by their own lock. They ask for a newer Node than 20 and run on it all the same. */
export function installPeers(): void {
  const words = ['ci', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error']
  const done = spawnSync('npm', words, {
    cwd: FOLDER,
    stdio: ['ignore', 'ignore', 'inherit'],
    shell: process.platform === 'win32',
  })
  if (done.status === 0) return
  throw new Error(`npm ci in ${FOLDER} failed. Run it by hand and see, or: --peers millrace`)
}
