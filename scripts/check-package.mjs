// Packs the package as it would be published and has publint and attw judge the tarball: every path
// in `exports` exists, types resolve from an ES module, nothing is missing from `files`.
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { packageFolder, tryRun } from './tools.mjs'

const folder = mkdtempSync(join(tmpdir(), 'millrace-package-'))
try {
  const tarball = join(folder, pack())
  const codes = [
    tryRun('npx', ['publint', tarball, '--strict']),
    tryRun('npx', ['attw', tarball, '--profile', 'esm-only']),
  ]
  process.exitCode = Math.max(...codes)
} finally {
  rmSync(folder, { recursive: true, force: true })
}

/** @returns {string} The tarball's name. */
function pack() {
  const done = spawnSync(
    'npm',
    ['pack', '--json', '--ignore-scripts', '--pack-destination', folder],
    {
      cwd: packageFolder,
      encoding: 'utf8',
      shell: process.platform === 'win32',
    },
  )
  if (done.status !== 0) throw new Error(`npm pack failed: ${done.stderr}`)
  return JSON.parse(done.stdout)[0].filename
}
