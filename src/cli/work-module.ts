import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { isHandlers } from '../index.ts'
import type { Handlers, Mill, WorkerOptions } from '../index.ts'
import { InvalidOptionError } from '../errors.ts'

/** What a module of handlers gives to `millrace work`. */
export interface Work {
  readonly handlers: readonly Handlers<string>[]
  readonly options: WorkerOptions
}

/**
 * Loads a module and finds its handlers: every export that `defineHandlers` made, whatever its
 * name. A module without one may export a function instead, which gets the client and answers
 * handlers: the only function, or the one named `handlers` or default.
 */
export async function importWork(path: string, mill: Mill): Promise<Work> {
  const exported = await importModule(path)
  const { options = {} } = exported
  if (!isOptions(options)) throw refusal(path, 'its export "options" is not an object')
  const values = Object.values(exported).filter(isHandlers)
  const handlers = values.length > 0 ? values : await handlersFrom(path, exported, mill)
  return { handlers: [...new Set(handlers)], options }
}

type Exports = Readonly<Record<string, unknown>>

async function importModule(path: string): Promise<Exports> {
  const url = pathToFileURL(resolve(path)).href
  try {
    const exported: Exports = await import(url)
    return exported
  } catch (cause) {
    const why = importProblem(cause, url)
    if (why === undefined) throw cause
    throw new InvalidOptionError('module', path, { text: why, cause })
  }
}

// What the module itself throws is its author's to read, as it is.
function importProblem(cause: unknown, url: string): string | undefined {
  const code = cause instanceof Error && 'code' in cause ? cause.code : undefined
  if (code === 'ERR_UNKNOWN_FILE_EXTENSION') {
    return 'this Node runs no TypeScript. Compile it, or run the command with a loader: node --import tsx node_modules/millrace/dist/cli/main.js work …'
  }
  const isAbsent =
    code === 'ERR_MODULE_NOT_FOUND' && 'url' in Object(cause) && Object(cause).url === url
  return isAbsent ? 'there is no such file. Give its path from here, as ./worker.js' : undefined
}

async function handlersFrom(
  path: string,
  exported: Exports,
  mill: Mill,
): Promise<readonly Handlers<string>[]> {
  const functions = Object.values(exported).filter(isFactory)
  const named = [exported['handlers'], exported['default']].find(isFactory)
  const factory = named ?? (functions.length === 1 ? functions[0] : undefined)
  if (factory === undefined) throw refusal(path, 'it exports no handlers')
  const answer: unknown = await factory(mill)
  const found = (Array.isArray(answer) ? answer : [answer]).filter(isHandlers)
  if (found.length === 0) throw refusal(path, 'its function answers no handlers')
  return found
}

type Factory = (mill: Mill) => unknown

function isFactory(value: unknown): value is Factory {
  return typeof value === 'function'
}

function isOptions(value: unknown): value is WorkerOptions {
  return typeof value === 'object' && value !== null
}

function refusal(path: string, why: string): InvalidOptionError {
  return new InvalidOptionError('module', path, `${why}. ${EXPECTED}`)
}

const EXPECTED = `Export what a worker needs:

  export const mail = defineHandlers().handle(welcome, async (input, run) => { … })
  export const handlers = (mill) => defineHandlers().handle(…)   // or a function, where handlers need the client
  export const options = { concurrency: 20 }                      // optional: WorkerOptions
`
