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
    ({ title, behaviours }) => `\n## ${title}\n\n${table(behaviours, (name) => name, cited)}`,
  )
  const races = numbered(RACES, 'race', cited)
  const replays = numbered(REPLAYS, 'replay', cited)
  return `${HEAD}\n${untested(cited)}\n${letters.join('')}\n## Races\n\n${races}\n## Replays\n\n${replays}`
}

const HEAD = `# What is promised, and the tests that hold it

Every behaviour of the specification by its letter, every race and crash point, and every fault that users of other queues
reported, with the tests that name it: a title begins with what it holds, \`D4: …\`, \`race 13: …\`, \`L1, replay 7: …\`.
A table tells of a test that it is there, not that it suffices.

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

/** What a title names before its colon; words without a letter or a number are none. */
export function namedIn(title: string): readonly string[] {
  const [head = '', ...rest] = title.split(':')
  if (rest.length === 0) return []
  const words = head.split(/,| and /).map((word) => word.trim())
  return words.flatMap((word) => {
    if (/^[A-Z]\d+$/.test(word)) return [word]
    const [, what, numbers] = /^(race|replay)s? (\d+(?: (?:to|–) \d+)?)$/.exec(word) ?? []
    return what === undefined || numbers === undefined ? [] : [`${what} ${numbers}`]
  })
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
  const words = missing.length === 0 ? 'every one of them' : `not ${missing.join(', ')}`
  return `${all.length} in all; ${tests} tests name one or more of them, ${words}.\n`
}

function numbered(faults: readonly string[], what: string, cited: Cited): string {
  const rows = faults.map((text, index) => [String(index + 1), text] as const)
  return table(rows, (number) => `${what} ${number}`, cited)
}

function table(
  rows: readonly (readonly [string, string])[],
  nameOf: (first: string) => string,
  cited: Cited,
): string {
  const lines = rows.map(([first, text]) => {
    const tests = cited.get(nameOf(first)) ?? []
    return `| ${first} | ${text} | ${tests.length === 0 ? '**none**' : byFile(tests)} |\n`
  })
  return `|  | what | tests |\n| --- | --- | --- |\n${lines.join('')}`
}

/** The files, each with how many of its tests it is. */
function byFile(tests: readonly TestTitle[]): string {
  const counts = new Map<string, number>()
  for (const { path } of tests) counts.set(path, (counts.get(path) ?? 0) + 1)
  return [...counts].map(([path, count]) => `${path} ${count}`).join(', ')
}
