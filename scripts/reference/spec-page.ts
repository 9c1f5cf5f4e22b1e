import { LETTERS } from './cited-behaviours.ts'
import { RACES, REPLAYS } from './cited-faults.ts'
import type { TestTitle } from './test-titles.ts'

/**
 * `docs/reference/spec.md`: what is promised against the tests that say in their titles that they
 * hold it, so that what nobody tests can be seen.
 */
export function specPage(titles: readonly TestTitle[]): string {
  const cited = citations(titles)
  const letters = LETTERS.map(
    ({ title, behaviours }) =>
      `\n## ${title}\n${behaviours.map((each) => section(each, cited)).join('')}`,
  )
  const races = numbered(RACES, 'race', cited)
  const replays = numbered(REPLAYS, 'replay', cited)
  return `${HEAD}\n${untested(cited)}${letters.join('')}\n## Races\n${races}\n## Replays\n${replays}`
}

const HEAD = `# What is promised, and the tests that hold it

Every behaviour of the specification by its letter, every race and crash point, and every fault that users of other queues
reported, with the tests that name it: a title begins with what it holds, \`D4: …\`, \`race 13: …\`, \`L1, replay 7: …\`.
The page tells that a test is there, not that it suffices. Paths are those under \`test\`.

This page is made from the titles of the tests by \`npm run reference\`.
`

/** The tests by what they name: \`D4\`, \`race 13\`, \`replay 7\`. */
export function citations(titles: readonly TestTitle[]): ReadonlyMap<string, readonly TestTitle[]> {
  const cited = new Map<string, TestTitle[]>()
  for (const test of titles) {
    for (const name of namedIn(test.title)) {
      const tests = cited.get(name) ?? []
      tests.push(test)
      cited.set(name, tests)
    }
  }
  return cited
}

/** What a title names before its colon; it begins with a name, other words may follow. */
export function namedIn(title: string): readonly string[] {
  const [head = '', ...rest] = title.split(':')
  const words = head.split(/,| and /).map((word) => nameIn(word.trim()))
  return rest.length === 0 || words[0] === null ? [] : words.filter((name) => name !== null)
}

function nameIn(word: string): string | null {
  const [, letter, fault, number] = /^(?:([A-Z]\d+)|(race|replay)s? (\d+))$/.exec(word) ?? []
  if (letter !== undefined) return letter
  return fault === undefined ? null : `${fault} ${number}`
}

type Cited = ReadonlyMap<string, readonly TestTitle[]>

/** What no test names, in one line, so that it is seen first. */
function untested(cited: Cited): string {
  const all = [
    ...LETTERS.flatMap(({ behaviours }) => behaviours.map(([name]) => name)),
    ...RACES.map((_what, index) => `race ${index + 1}`),
    ...REPLAYS.map((_what, index) => `replay ${index + 1}`),
  ]
  const missing = all.filter((name) => !cited.has(name))
  const tests = new Set([...cited.values()].flat()).size
  const words = missing.length === 0 ? 'all' : `all but ${missing.join(', ')}`
  return `${all.length} in all; ${tests} tests name one or more. Named by a test: ${words}.\n`
}

function numbered(faults: readonly string[], what: string, cited: Cited): string {
  return faults.map((text, index) => section([`${what} ${index + 1}`, text], cited)).join('')
}

function section([name, what]: readonly [string, string], cited: Cited): string {
  const tests = cited.get(name) ?? []
  const lines = tests.map((test) => `- ${restOf(test.title)} (${test.path})\n`)
  const list = lines.length === 0 ? '**No test names it.**\n' : lines.join('')
  return `\n### ${name}: ${what}\n\n${list}`
}

/** Without what it names; titles are plain text, and some hold what Markdown would read. */
function restOf(title: string): string {
  return title
    .slice(title.indexOf(':') + 1)
    .trim()
    .replaceAll(/[\\`*_<>[\]|]/g, '\\$&')
}
