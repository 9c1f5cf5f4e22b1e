// Builds dist: what `tsc` emits, the migrations beside the code that loads them, and a command
// that can be executed. It is built beside the old one and put in its place when complete: a build
// that fails changes nothing, and a file that was renamed does not live on.
import { chmodSync, cpSync, existsSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { packageFolder, tryRun } from './tools.mjs'

const dist = join(packageFolder, 'dist')
const next = join(packageFolder, `dist-${process.pid}`)

try {
  process.exitCode = tryRun('npx', ['tsc', '-p', 'tsconfig.build.json', '--outDir', next])
  if (process.exitCode === 0) finish()
} finally {
  rmSync(next, { recursive: true, force: true })
}

function finish() {
  const migrations = join(packageFolder, 'src', 'database', 'migrations')
  cpSync(migrations, join(next, 'database', 'migrations'), { recursive: true })
  const command = join(next, 'cli', 'main.js')
  if (existsSync(command)) chmodSync(command, 0o755)
  rmSync(dist, { recursive: true, force: true })
  renameSync(next, dist)
}
