import type { RepositoryRow, SenderRow } from './evidence.ts'
import type { Delivery } from './payloads.ts'

/**
 * The sums once more, from the bodies alone: no job, no table and none of the handlers' code is
 * asked, so that a fault in any of them shows as a difference.
 */
export interface Recount {
  readonly repositories: ReadonlyMap<string, RepositoryRow>
  readonly senders: ReadonlyMap<string, SenderRow>
  /** The deliveries that no try can process. */
  readonly hopeless: ReadonlySet<string>
}

export function recount(deliveries: readonly Delivery[]): Recount {
  const repositories = new Map<string, RepositoryRow>()
  const senders = new Map<string, SenderRow>()
  const hopeless = new Set<string>()
  for (const { id, event, body } of deliveries) {
    const webhook = parse(body)
    if (event === 'ping' && webhook.hook?.type === 'Organization') {
      hopeless.add(id)
      continue
    }
    countRepository(repositories, event, webhook)
    countSender(senders, webhook)
  }
  return { repositories, senders, hopeless }
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
  { action, repository, organization, commits = [] }: Webhook,
): void {
  const name = repository?.full_name ?? organization?.login
  if (name === undefined) return
  const before = repositories.get(name) ?? { name, deliveries: 0, commits: 0, comments: 0 }
  const isComment = COMMENTS.has(event) && action === 'created'
  repositories.set(name, {
    name,
    deliveries: before.deliveries + 1,
    commits: before.commits + commits.length,
    comments: before.comments + (isComment ? 1 : 0),
  })
}

function countSender(senders: Map<string, SenderRow>, { sender }: Webhook): void {
  if (sender === undefined) return
  const { login, type } = sender
  const before = senders.get(login)?.deliveries ?? 0
  senders.set(login, { login, type, deliveries: before + 1 })
}
