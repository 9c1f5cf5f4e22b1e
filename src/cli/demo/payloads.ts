import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { cwd } from 'node:process'
import { MillraceError } from '../../errors.ts'
import type { Json } from '../../index.ts'

/** One webhook as it arrives: what GitHub names in the headers, and the body. */
export interface Delivery {
  /** The header `x-github-delivery`: unique, and the same when GitHub sends it again. */
  readonly id: string
  /** The header `x-github-event`. */
  readonly event: string
  readonly body: string
}

/** What an application parses a body to. */
export type Payload = Json

/** The demo's payloads are a package of their own, which an application does not need. */
export class MissingPayloadsError extends MillraceError {
  readonly code = 'MISSING_PAYLOADS'

  constructor(options: ErrorOptions) {
    super(
      `the package "${PACKAGE}" is not installed; it holds the webhooks that the demo processes. Run: npm install --no-save ${PACKAGE}@7`,
      options,
    )
  }
}

/**
 * The webhooks of `@octokit/webhooks-examples`, in the order of the package. Throws
 * `MissingPayloadsError` when it is installed in none of the places, files or their URLs, from
 * which it is looked for.
 */
export function readDeliveries(places: readonly string[] = OURS_AND_YOURS): readonly Delivery[] {
  return examplesIn(pathOfPackage(places)).flatMap(({ name, examples }) =>
    examples.map((example, index) => ({
      id: deliveryId(`${name} ${index}`),
      event: name,
      body: JSON.stringify(example),
    })),
  )
}

/** The door for a body: what an application parses it to. */
export function parseBody(body: string): Payload {
  const payload: Payload = JSON.parse(body)
  return payload
}

const PACKAGE = '@octokit/webhooks-examples'

interface ExamplesOfEvent {
  readonly name: string
  readonly examples: readonly object[]
}

// Beside Millrace, or in the project it is called from: `npx` keeps packages in a place of its own.
const OURS_AND_YOURS: readonly string[] = [import.meta.url, join(cwd(), 'package.json')]

// It is one JSON document: read as a file, since Node 20 warns when JSON is imported.
function pathOfPackage(places: readonly string[]): string {
  const causes: unknown[] = []
  for (const place of places) {
    try {
      return createRequire(place).resolve(PACKAGE)
    } catch (cause) {
      causes.push(cause)
    }
  }
  throw new MissingPayloadsError({ cause: new AggregateError(causes) })
}

/** The door for the package's JSON. */
function examplesIn(path: string): readonly ExamplesOfEvent[] {
  const events: readonly ExamplesOfEvent[] = JSON.parse(readFileSync(path, 'utf8'))
  return events
}

// The examples come without headers. An id made from the place in the package is the same in every
// demo, and has the form of GitHub's.
function deliveryId(place: string): string {
  const hash = createHash('sha256').update(place).digest('hex')
  return [
    hash.slice(0, 8),
    hash.slice(8, 12),
    hash.slice(12, 16),
    hash.slice(16, 20),
    hash.slice(20, 32),
  ].join('-')
}
