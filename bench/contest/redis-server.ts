import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { connect, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { setTimeout as pause } from 'node:timers/promises'

/** A Redis of the bench's own, in memory only. */
export interface RedisServer {
  readonly url: string
  readonly pid: number
  close(): Promise<void>
}

const HINT =
  'redis-server was not found: install it (Debian: apt-get install redis-server), or leave bullmq out with --peers'

export async function startRedis(): Promise<RedisServer> {
  const port = await freePort()
  // No snapshots, no log of commands, nothing on disk: as fast as it goes.
  const settings = ['--port', `${port}`, '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no']
  const server = spawn('redis-server', settings, { cwd: tmpdir(), stdio: 'ignore' })
  const exit = once(server, 'exit').catch(() => {
    throw new Error(HINT)
  })
  const { pid } = server
  if (pid === undefined) {
    await exit
    throw new Error(HINT)
  }
  const callOff = endWithThisProcess(pid)
  await Promise.race([untilAnswering(port), exit])
  async function close(): Promise<void> {
    callOff()
    server.kill('SIGKILL')
    await exit
  }
  return { url: `redis://127.0.0.1:${port}`, pid, close }
}

/** A shell that waits for the end of a pipe which only this process holds, however this process ends. */
function endWithThisProcess(pid: number): () => void {
  const command = ['-c', 'read -r line || kill -KILL "$1"', 'sh', `${pid}`]
  const watchdog = spawn('/bin/sh', command, {
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  })
  watchdog.unref()
  watchdog.stdin.on('error', () => {})
  return () => watchdog.stdin.end('stopped\n')
}

async function untilAnswering(port: number): Promise<void> {
  for (;;) {
    const socket = connect(port, '127.0.0.1')
    const [event] = await Promise.race([
      once(socket, 'connect').then(() => ['connect']),
      once(socket, 'close').then(() => ['close']),
    ]).catch(() => ['close'])
    socket.destroy()
    if (event === 'connect') return
    await pause(20)
  }
}

async function freePort(): Promise<number> {
  const probe = createServer().listen(0, '127.0.0.1')
  await once(probe, 'listening')
  const address = probe.address()
  probe.close()
  await once(probe, 'close')
  if (address === null || typeof address === 'string') throw new Error('no free port was found')
  return address.port
}
