import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Config } from '../config.ts'
import { demandServer, serverUrl } from '../server-url.ts'
import { embeddedApplication, serverApplication } from './application.ts'
import type { Application } from './application.ts'
import { placeOf } from './place.ts'
import type { Place } from './place.ts'

/**
 * Where a demo happens: on a server that was named, in two schemas of its own; else on an embedded
 * database in a new directory. A directory that is there already is refused: the application opens
 * it itself, so nothing would keep out another process that works in it.
 */
export interface Site extends AsyncDisposable {
  readonly application: Application
  readonly place: Place
  /** For people and programs: the URL without its password, or the directory. */
  readonly database: string
  /** What a command must be given to find this place again. */
  readonly options: string
  /** The command that leaves no trace. */
  readonly cleanup: string
  /** The demo came to its end: somebody will look at what is there. Else a new directory goes again. */
  keep(): void
}

export async function openSite(config: Config): Promise<Site> {
  return config.database === undefined ? embeddedSite(config) : serverSite(config, config.database)
}

const OWN_SCHEMA = 'millrace'
const SCHEMA_ON_A_SERVER = 'millrace_demo'
const OTHERWISE =
  'the demo works on a server (postgres://user@host/name), or without --database in a new directory of its own'

async function embeddedSite(config: Config): Promise<Site> {
  const place = placeOf(config.schema ?? OWN_SCHEMA, config.prefix ?? '')
  const directory = await mkdtemp(join(tmpdir(), 'millrace-demo-'))
  const application = await embeddedApplication(directory)
  let isKept = false
  return {
    application,
    place,
    database: directory,
    options: optionsText(directory, place),
    cleanup: `rm -r ${shellWord(directory)}`,
    keep() {
      isKept = true
    },
    async [Symbol.asyncDispose]() {
      await application.close()
      if (!isKept) await rm(directory, { recursive: true, force: true })
    },
  }
}

async function serverSite(config: Config, database: string): Promise<Site> {
  const place = placeOf(config.schema ?? SCHEMA_ON_A_SERVER, config.prefix ?? '')
  const url = serverUrl(database, OTHERWISE)
  const options = optionsText(url.password === '' ? database : null, place)
  url.password = ''
  await demandServer(database)
  const application = await serverApplication(database)
  return {
    application,
    place,
    database: url.href,
    options,
    cleanup: `npx millrace demo --remove${options}`,
    keep: () => undefined,
    [Symbol.asyncDispose]: application.close,
  }
}

// A URL with a password is not repeated on the screen: commands read DATABASE_URL as well.
function optionsText(database: string | null, { schema, prefix }: Place): string {
  return [
    database === null ? '' : ` --database ${shellWord(database)}`,
    schema === OWN_SCHEMA ? '' : ` --schema ${shellWord(schema)}`,
    prefix === '' ? '' : ` --prefix ${shellWord(prefix)}`,
  ].join('')
}

function shellWord(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`
}
