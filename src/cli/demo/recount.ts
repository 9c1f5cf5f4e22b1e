import type { RepositoryRow, SenderRow, TotalsRow } from './evidence.ts'
import type { Delivery } from './payloads.ts'

/**
 * The sums once more, from the bodies alone: no job, no table and none of the handlers' code is
 * asked, so that a fault in any of them shows as a difference.
 */
export interface Recount {
  readonly repositories: ReadonlyMap<string, RepositoryRow>
  readonly senders: ReadonlyMap<string, SenderRow>
  readonly events: ReadonlyMap<string, TotalsRow>
  /** The deliveries that no try can process. */
  readonly hopeless: ReadonlySet<string>
}

export function recount(deliveries: readonly Delivery[]): Recount {
  const repositories = new Map<string, RepositoryRow>()
  const senders = new Map<string, SenderRow>()
  const events = new Map<string, TotalsRow>()
  const hopeless = new Set<string>()
  for (const { id, event, body } of deliveries) {
    const webhook = parse(body)
    if (event === 'ping' && webhook.hook?.type === 'Organization') {
      hopeless.add(id)
      continue
    }
    countRepository(repositories, event, webhook)
    countSender(senders, webhook)
    countEvent(events, event, webhook)
  }
  return { repositories, senders, events, hopeless }
}

interface Webhook {
  readonly action?: string
  readonly repository?: { readonly full_name: string }
  readonly organization?: { readonly login: string }
  readonly sender?: { readonly login: string; readonly type: string }
  readonly hook?: { readonly type: string }
  readonly commits?: readonly object[]
}

const COMMENTS = new Set([
  'commit_comment',
  'discussion_comment',
  'issue_comment',
  'pull_request_review_comment',
])

/** The door for a body. */
function parse(body: string): Webhook {
  const webhook: Webhook = JSON.parse(body)
  return webhook
}

function countRepository(
  repositories: Map<string, RepositoryRow>,
  event: string,
  webhook: Webhook,
): void {
  const name = webhook.repository?.full_name ?? webhook.organization?.login
  if (name === undefined) return
  const before = repositories.get(name) ?? { deliveries: 0, commits: 0, comments: 0 }
  repositories.set(name, { name, ...added(before, event, webhook) })
}

function countEvent(events: Map<string, TotalsRow>, event: string, webhook: Webhook): void {
  const before = events.get(event) ?? { deliveries: 0, commits: 0, comments: 0 }
  events.set(event, { event, ...added(before, event, webhook) })
}

type Counts = Pick<TotalsRow, 'deliveries' | 'commits' | 'comments'>

function added(
  { deliveries, commits, comments }: Counts,
  event: string,
  webhook: Pick<Webhook, 'action' | 'commits'>,
): Counts {
  const isComment = COMMENTS.has(event) && webhook.action === 'created'
  return {
    deliveries: deliveries + 1,
    commits: commits + (webhook.commits?.length ?? 0),
    comments: comments + (isComment ? 1 : 0),
  }
}

function countSender(senders: Map<string, SenderRow>, { sender }: Webhook): void {
  if (sender === undefined) return
  const { login, type } = sender
  const before = senders.get(login)?.deliveries ?? 0
  senders.set(login, { login, type, deliveries: before + 1 })
}
