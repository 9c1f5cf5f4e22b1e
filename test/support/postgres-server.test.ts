import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, mkdtempSync, readdirSync, rmSync, statSync, unlinkSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { postgresBinaries } from './postgres-binaries.ts'
import { startServer } from './postgres-server.ts'
import { runSql } from './sql.ts'
import { until } from './until.ts'

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return !execFileSync('ps', ['-o', 'stat=', '-p', String(pid)], { encoding: 'utf8' }).startsWith(
      'Z',
    )
  } catch {
    return false
  }
}

test('a server keeps its data over a restart, a crash and a kill, and its settings', async () => {
  await using server = await startServer({ settings: { max_connections: '17' } })
  const url = await server.createDatabase('Kept "it" not')
  await runSql(url, 'create table kept (n int4)')
  const first = server.pid
  for (const end of [
    () => server.restart(),
    () => server.restart('immediate'),
    () => server.kill().then(server.start),
  ]) {
    await runSql(url, 'insert into kept values (1)')
    await end()
  }
  expect(server.pid).not.toBe(first)
  expect(await runSql(url, 'select count(*)::int4 as n from kept')).toEqual([{ n: 3 }])
  expect(await runSql(url, 'show max_connections')).toEqual([{ max_connections: '17' }])
})

test('a stopped server refuses connections, and close removes its directory', async () => {
  const server = await startServer()
  await server.stop()
  expect(() => server.pid).toThrow('the server is down')
  await expect(runSql(server.url(), 'select 1')).rejects.toMatchObject({ code: 'ECONNREFUSED' })
  await server.close()
  expect(() => statSync(server.directory)).toThrow('ENOENT')
})

test('a server ends with the process that started it, even when that is killed', async () => {
  const script = `
    import { startServer } from ${JSON.stringify(fileURLToPath(new URL('postgres-server.ts', import.meta.url)))}
    const server = await startServer()
    console.log(server.pid, server.directory)
    setInterval(() => {}, 1000)`
  const vite = createRequire(import.meta.url).resolve('vite/package.json')
  const runner = `
    import { runnerImport } from ${JSON.stringify(join(dirname(vite), 'dist/node/index.js'))}
    await runnerImport(process.argv[1], { configFile: false })`
  const directory = mkdtempSync(join(tmpdir(), 'millrace-starter-'))
  const file = join(directory, 'starter.ts')
  execFileSync('tee', [file], { input: script })
  const starter = spawn(process.execPath, ['--input-type=module', '-e', runner, file], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const [line] = await once(starter.stdout, 'data')
  const [pid = '', data = ''] = String(line).trim().split(' ')
  expect(isAlive(Number(pid))).toBe(true)
  starter.kill('SIGKILL')
  await until(() => !isAlive(Number(pid)))
  await until(() => !readdirSync(tmpdir()).includes(data.split('/').at(-1) ?? ''))
  rmSync(directory, { recursive: true })
})

test('binaries without their links, where the account cannot reach, are mended in a copy', async () => {
  const { postgres } = postgresBinaries()
  const hidden = mkdtempSync(join(tmpdir(), 'millrace-hidden-'))
  const native = join(hidden, 'native')
  cpSync(dirname(dirname(postgres)), native, { recursive: true, verbatimSymlinks: true })
  for (const name of readdirSync(join(native, 'lib'))) {
    if (/^libicu\w+\.so\.60$/.test(name)) unlinkSync(join(native, 'lib', name))
  }
  const copied = postgresBinaries(native)
  expect(copied.postgres.startsWith(hidden)).toBe(false)
  await using server = await startServer({ native })
  expect(await runSql(server.url(), 'select 1 as one')).toEqual([{ one: 1 }])
  rmSync(hidden, { recursive: true })
  rmSync(dirname(copied.template), { recursive: true })
})
