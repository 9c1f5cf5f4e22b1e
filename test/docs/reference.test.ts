import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { referenceFolder, referencePages } from '../../scripts/reference/pages.ts'

test('the generated pages of docs/reference are what the code says (else: npm run reference)', async () => {
  const pages = await referencePages()
  const committed = [...pages.keys()].map((name) => [
    name,
    readFileSync(join(referenceFolder, name), 'utf8'),
  ])
  expect(Object.fromEntries(committed)).toEqual(Object.fromEntries(pages))
})

test('every page of the reference has its statements, tables and errors', async () => {
  const pages = await referencePages()
  expect(pages.get('statements.md')).toContain('### claim_jobs\n')
  expect(pages.get('schema.md')).toContain('## leases (table)\n')
  expect(pages.get('schema.md')).toContain('`worker` | text | Who runs it.')
  expect(pages.get('spec.md')).toContain('### race 13: prune against a redrive\n')
  expect(pages.get('errors.md')).toContain('## NotMigratedError `NOT_MIGRATED`\n')
})

test('every test that the page on support names is there', async () => {
  const page = (await referencePages()).get('support.md') ?? ''
  const named = [...page.matchAll(/`(test\/[\w./-]+)`/g)].map(([, path]) => path ?? '')
  expect(named.length).toBeGreaterThan(10)
  expect(named.filter((path) => !existsSync(join(referenceFolder, '..', '..', path)))).toEqual([])
})
