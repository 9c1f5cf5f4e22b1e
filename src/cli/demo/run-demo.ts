import { open, shutdownSignal } from '../../index.ts'
import type { Mill } from '../../index.ts'
import { DONE, NO } from '../exit-code.ts'
import type { ExitCode } from '../exit-code.ts'
import type { Invocation } from '../run-command.ts'
import { addsUp, check } from './check.ts'
import { readEvidence } from './evidence.ts'
import { ACTIVITIES } from './activities.ts'
import { readDeliveries } from './payloads.ts'
import type { Delivery } from './payloads.ts'
import { claimSchemas, placed, removeSchemas } from './place.ts'
import { processDeliveries } from './process-deliveries.ts'
import { progressFor } from './progress.ts'
import { CONSUMER } from './projection.ts'
import { reportDocument, reportText } from './report.ts'
import type { Report, StreamFacts } from './report.ts'
import { openSite } from './site.ts'
import type { Site } from './site.ts'
import { readSummary } from './summary.ts'
import type { Summary } from './summary.ts'
import { CREATE_TABLES } from './tables.ts'

/**
 * `millrace demo`: an application gets 329 webhooks, stores each together with its job in one
 * transaction, and processes them; a projection follows what came of them. At the end it reads the tables, compares them with the payloads,
 * and answers 0 only when everything adds up.
 */
export async function runDemo({ config, output }: Invocation): Promise<ExitCode> {
  const deliveries = readDeliveries()
  const signal = shutdownSignal()
  output.remark(startText(deliveries.length, config.database === undefined))
  await using site = await openSite(config)
  await using mill = await prepare(site)
  const { application, place } = site
  const progress = progressFor(output, deliveries.length)
  await processDeliveries({ mill, application, place, signal }, deliveries, progress)
  if (signal.aborted) {
    output.document(null, () => 'stopped before the end')
    return NO
  }
  site.keep()
  const report = await readReport(site, mill, deliveries)
  output.document(reportDocument(report), () => reportText(report))
  return addsUp(report.findings) ? DONE : NO
}

/** `millrace demo --remove`: drops what an earlier demo left on a server. */
export async function removeDemo({ config, output }: Invocation): Promise<ExitCode> {
  await using site = await openSite(config)
  const removed = await removeSchemas(site.application, site.place)
  output.document({ removed }, () =>
    removed.length === 0
      ? 'nothing to remove'
      : removed.map((name) => `removed ${name}`).join('\n'),
  )
  return DONE
}

/** The schemas made anew, the application's tables in them; Millrace makes its own. */
export async function prepare({
  application,
  place,
}: Pick<Site, 'application' | 'place'>): Promise<Mill> {
  await claimSchemas(application, place)
  for (const text of CREATE_TABLES) await application.query(placed(text, place))
  const { schema, prefix } = place
  return open(application.database, { schema, prefix, migrate: 'auto' })
}

function startText(count: number, isEmbedded: boolean): string {
  const where = isEmbedded
    ? 'an embedded PostgreSQL, which needs some seconds to start'
    : 'a PostgreSQL server'
  return `${count} GitHub webhooks arrive and are processed, on ${where}`
}

async function readReport(
  site: Site,
  mill: Mill,
  deliveries: readonly Delivery[],
): Promise<Report> {
  const { application, place } = site
  const evidence = await readEvidence(application, place)
  const summary = await readSummary({ mill, application, place })
  return {
    database: site.database,
    schema: place.schema,
    deliveries: deliveries.length,
    summary,
    repositories: evidence.repositories,
    senders: evidence.senders,
    stream: await readStream(mill),
    findings: check(evidence, deliveries),
    next: nextCommands(summary, site.options),
    cleanup: site.cleanup,
  }
}

async function readStream(mill: Mill): Promise<StreamFacts> {
  const [last] = await mill.streams.consumers(ACTIVITIES)
  const { offset, lag } = last ?? { offset: 0, lag: 0 }
  return { stream: ACTIVITIES.name, head: offset + lag, consumer: CONSUMER, lag }
}

function nextCommands({ retried, gaveUp }: Summary, options: string): readonly string[] {
  return [
    'jobs list --state dead',
    ...(gaveUp === null ? [] : [`jobs show ${gaveUp.id}`]),
    ...(retried === null ? [] : [`jobs journal ${retried.job.id}`]),
    'jobs list --kind github.pull_request --limit 5',
    `streams read ${ACTIVITIES.name} --limit 5`,
    'schedules list',
  ].map((command) => `npx millrace ${command}${options}`)
}
