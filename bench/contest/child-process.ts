import { fork } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { contenderName, SYSTEMS } from './contenders.ts'
import type { Contender } from './contenders.ts'

const PROGRAM = fileURLToPath(new URL('child.mjs', import.meta.url))

export interface ChildTask {
  readonly contender: Contender
  readonly url: string
  readonly task: 'bulk' | 'singles' | 'drain' | 'latency' | 'produce' | 'consume' | 'idle'
  readonly options: Readonly<Record<string, number>>
}

/** What a task measured; `nodeMs` and `rssBytes` always. */
export type ChildResult = Readonly<Record<string, number | null>>

export interface Child {
  readonly result: Promise<ChildResult>
  /** Resolves when it stands at the beginning of what is measured and goes on. */
  readonly begun: Promise<void>
  tell(message: { readonly told: string; readonly [fact: string]: number | string }): void
}

/** What the parent reads while the child waits at either end of the measured window. */
export type AtMark = (mark: 'begin' | 'end') => Promise<void>

/** Runs one task in a fresh process, which ends with it. */
export function startChild(given: ChildTask, atMark: AtMark = async () => {}): Child {
  const { contender, url, task, options } = given
  const { module } = SYSTEMS[contender.system]
  const values = JSON.stringify({ module, mode: contender.mode, url, task, options })
  const child = fork(PROGRAM, [values], {
    execArgv: [],
    stdio: ['ignore', 'inherit', 'pipe', 'ipc'],
  })
  const tell: Child['tell'] = (message) => {
    child.send(message)
  }
  let begin: (() => void) | undefined
  const begun = new Promise<void>((resolve) => {
    begin = resolve
  })
  const result = resultOf(child, `${contenderName(contender)}, ${task}`, async (mark) => {
    await atMark(mark)
    tell({ told: 'go' })
    if (mark === 'begin') begin?.()
  })
  return { result, begun, tell }
}

function resultOf(child: ChildProcess, what: string, atMark: AtMark): Promise<ChildResult> {
  let result: ChildResult | undefined
  let errors = ''
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    errors = (errors + text).slice(-4_000)
  })
  return new Promise((resolve, reject) => {
    const fail = (error: unknown): void => {
      child.kill('SIGKILL')
      reject(new Error(`${what} failed: ${String(error)}\n${errors}`, { cause: error }))
    }
    child.on('message', (message: ChildMessage) => {
      if ('result' in message) result = message.result
      else atMark(message.mark).catch(fail)
    })
    child.on('error', fail)
    child.on('exit', (code) => {
      if (result === undefined) fail(`it ended with code ${code} and no result`)
      else resolve(result)
    })
  })
}

type ChildMessage = { readonly mark: 'begin' | 'end' } | { readonly result: ChildResult }
