import { lengthAt, numberAt, textAt } from './json-at.ts'
import type { Payload } from './payloads.ts'

/** What the application keeps of one webhook. */
export interface Activity {
  /** `owner/name`, or the organization of an event that is of no repository; null for neither. */
  readonly repository: string | null
  readonly sender: string | null
  readonly senderType: string | null
  /** One sentence for people. */
  readonly headline: string
  readonly commits: number
  readonly comments: number
}

/** Reads a payload. Pure: the same webhook is the same activity, however often it is processed. */
export function activityOf(event: string, payload: Payload): Activity {
  const repository = textAt(payload, 'repository', 'full_name')
  return {
    repository: repository ?? textAt(payload, 'organization', 'login') ?? null,
    sender: textAt(payload, 'sender', 'login') ?? null,
    senderType: textAt(payload, 'sender', 'type') ?? null,
    headline: headlineOf(event, payload),
    commits: event === 'push' ? lengthAt(payload, 'commits') : 0,
    comments: event.endsWith('_comment') && textAt(payload, 'action') === 'created' ? 1 : 0,
  }
}

function headlineOf(event: string, payload: Payload): string {
  const action = textAt(payload, 'action')?.replaceAll('_', ' ')
  const who = textAt(payload, 'sender', 'login') ?? 'GitHub'
  const did = action === undefined ? '' : ` ${action}`
  return `${subjectOf(event, payload)}${did} by ${who}`
}

function subjectOf(event: string, payload: Payload): string {
  const words = event === 'issues' ? 'issue' : event.replaceAll('_', ' ')
  if (event === 'push') return `${words} of ${commitsText(payload)} to ${branchOf(payload)}`
  for (const thing of THINGS) {
    const number = numberAt(payload, thing, 'number')
    const name = NAMES.map((key) => textAt(payload, thing, key)).find((text) => text !== undefined)
    if (number === undefined && name === undefined) continue
    const label = [number === undefined ? '' : `#${number}`, name === undefined ? '' : `"${name}"`]
    return [words, ...label].filter((part) => part !== '').join(' ')
  }
  return words
}

// Where events say what they are about, the more telling first.
const THINGS = [
  'issue',
  'pull_request',
  'discussion',
  'release',
  'milestone',
  'label',
  'check_run',
  'workflow_job',
  'workflow_run',
  'project',
  'project_column',
  'package',
  'team',
  'rule',
  'alert',
  'deployment_status',
  'forkee',
  'security_advisory',
]
const NAMES = ['title', 'tag_name', 'full_name', 'name', 'summary', 'state']

function commitsText(payload: Payload): string {
  const count = lengthAt(payload, 'commits')
  return count === 1 ? '1 commit' : `${count} commits`
}

function branchOf(payload: Payload): string {
  return (textAt(payload, 'ref') ?? 'nowhere').replace(/^refs\/(heads|tags)\//, '')
}
