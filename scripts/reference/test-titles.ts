import { readdirSync, readFileSync } from 'node:fs'
import { join, sep } from 'node:path'
import { Visitor } from 'vite'
import type { ESTree } from 'vite'
import { parseSource } from './comments.ts'

/** A test, by the file it stands in and its title as it is written. */
export interface TestTitle {
  /** Relative to the folder of the tests. */
  readonly path: string
  readonly title: string
}

/** The titles of all tests under a folder, those of shared suites too. */
export function testTitles(folder: string): readonly TestTitle[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.ts'))
    .map((path) => path.split(sep).join('/'))
    .toSorted()
    .flatMap((path) =>
      titlesIn(path, readFileSync(join(folder, path), 'utf8')).map((title) => ({ path, title })),
    )
}

/** The titles in one source file; what a template puts in is told as `…`. */
export function titlesIn(path: string, source: string): readonly string[] {
  const titles: string[] = []
  new Visitor({
    CallExpression(call) {
      const [first] = call.arguments
      const title = first === undefined || !isTest(call.callee) ? null : textOf(first)
      if (title !== null) titles.push(title)
    },
  }).visit(parseSource(path, source).program)
  return titles
}

const TESTS: ReadonlySet<string> = new Set(['test', 'it', 'describe'])

// `test(…)`, `test.skipIf(…)(…)`, `test.each([…])(…)`; the inner call of the latter has no text first.
function isTest(callee: ESTree.Expression | ESTree.Super): boolean {
  switch (callee.type) {
    case 'Identifier':
      return TESTS.has(callee.name)
    case 'MemberExpression':
      return isTest(callee.object)
    case 'CallExpression':
      return isTest(callee.callee)
    default:
      return false
  }
}

function textOf(node: ESTree.Node): string | null {
  if (node.type === 'Literal') return typeof node.value === 'string' ? node.value : null
  if (node.type !== 'TemplateLiteral') return null
  return node.quasis.map(({ value }) => value.cooked ?? value.raw).join('…')
}
