import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { LETTERS } from '../../scripts/reference/cited-behaviours.ts'
import { RACES } from '../../scripts/reference/cited-faults.ts'
import { citations, namedIn, specPage } from '../../scripts/reference/spec-page.ts'
import { testTitles, titlesIn } from '../../scripts/reference/test-titles.ts'

const all = testTitles(fileURLToPath(new URL('..', import.meta.url)))

test('every letter of the specification, and every race, is named by a test', () => {
  const cited = citations(all)
  const letters = LETTERS.flatMap(({ behaviours }) => behaviours.map(([name]) => name))
  const races = RACES.map((_what, index) => `race ${index + 1}`)
  expect([...letters, ...races].filter((name) => !cited.has(name))).toEqual([])
})

test.each<readonly [title: string, named: readonly string[]]>([
  ['D4: of many first asks one wins', ['D4']],
  ['O2, replay 1: an error is recorded', ['O2', 'replay 1']],
  ['races 3, M4: a claim with an older snapshot', ['race 3', 'M4']],
  ['race 12 and replay 12: once', ['race 12', 'replay 12']],
  ['marks: what is hidden is found', []],
  ['a letter within, D4: none', []],
  ['nothing is named', []],
])('%j names %j', (title, named) => {
  expect(namedIn(title)).toEqual(named)
})

test('titles are read from every way to write a test, and from nothing else', () => {
  const source = `
    test('E1: plain', async () => { await mill.enqueue('no title') })
    it.skipIf(isSlow)('E2: skipped at times', run)
    test.each([['no title']])('E3: from a table', run)
    test(\`E4: with \${name} in it\`, run)
    describe('E5: a group', () => {})
    tests('E6: something else', run)
  `
  expect(titlesIn('some.test.ts', source)).toEqual([
    'E1: plain',
    'E2: skipped at times',
    'E3: from a table',
    'E4: with … in it',
    'E5: a group',
  ])
})

test('the page shows what no test names', () => {
  const page = specPage([{ path: 'jobs/dedup.test.ts', title: 'D4, race 5: one wins *always*' }])
  expect(page).toContain('- one wins \\*always\\* (jobs/dedup.test.ts)\n')
  expect(page).toContain('Named by a test: all but E1, E2,')
  expect(page).toMatch(/### D5: .+\n\n\*\*No test names it\.\*\*\n/)
  expect(page).not.toMatch(/### race 5: .+\n\n\*\*No test names it/)
})
