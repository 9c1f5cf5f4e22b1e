import { expect, test } from 'vitest'
import { activityOf } from '../../../src/cli/demo/activity.ts'

const repository = { full_name: 'ada/engine' }
const sender = { login: 'ada', type: 'User' }

test.each<readonly [event: string, payload: Parameters<typeof activityOf>[1], headline: string]>([
  [
    'issues',
    { action: 'opened', sender, issue: { number: 1, title: 'A typo' } },
    'issue #1 "A typo" opened by ada',
  ],
  [
    'push',
    { sender, ref: 'refs/heads/main', commits: [{}, {}] },
    'push of 2 commits to main by ada',
  ],
  ['push', { sender, ref: 'refs/tags/v1', commits: [{}] }, 'push of 1 commit to v1 by ada'],
  [
    'pull_request_review',
    { action: 'submitted', sender, pull_request: { number: 2, title: 'Mend it' } },
    'pull request review #2 "Mend it" submitted by ada',
  ],
  [
    'release',
    { action: 'published', release: { tag_name: '1.0' } },
    'release "1.0" published by GitHub',
  ],
  ['fork', { sender, forkee: null }, 'fork by ada'],
  ['public', null, 'public by GitHub'],
])('the headline of %s', (event, payload, headline) => {
  expect(activityOf(event, payload).headline).toBe(headline)
})

test('an activity is of its repository, else of its organization, else of neither', () => {
  const organization = { login: 'engines' }
  expect(activityOf('push', { repository, organization }).repository).toBe('ada/engine')
  expect(activityOf('team', { organization }).repository).toBe('engines')
  expect(activityOf('sponsorship', {}).repository).toBe(null)
})

test('commits are counted of a push, comments when they are made', () => {
  expect(activityOf('push', { commits: [1, 2, 3] })).toMatchObject({ commits: 3, comments: 0 })
  expect(activityOf('issue_comment', { action: 'created' })).toMatchObject({ comments: 1 })
  expect(activityOf('issue_comment', { action: 'deleted' })).toMatchObject({ comments: 0 })
  expect(activityOf('issues', { action: 'created' })).toMatchObject({ comments: 0 })
})
