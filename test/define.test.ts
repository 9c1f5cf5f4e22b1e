import { readFileSync } from 'node:fs'
import { posix } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import * as define from '../src/define.ts'
import { readSource } from './support/source-file.ts'

test('nothing that millrace/define reaches imports from Node, and only these packages', () => {
  const { files, packages } = reachedFrom('define.ts')
  expect(files).toContain('jobs/kind.ts')
  expect(files).toContain('core/duration.ts')
  expect([...packages].toSorted()).toEqual(['fastest-levenshtein', 'ms'])
})

test('the walk sees imports from Node where there are some', () => {
  expect(reachedFrom('core/recorded-error.ts').packages).toEqual(new Set(['node:util']))
})

test('millrace/define defines', () => {
  const kind = define.defineJob('welcome', { input: define.typed<{ id: string }>() })
  expect(kind.name).toBe('welcome')
  expect(define.duration('5m')).toBe(300_000)
  expect(() => define.defineJob('')).toThrow(define.InvalidNameError)
  expect(() => define.duration('')).toThrow(define.InvalidOptionError)
})

/** What is loaded at run time; imports of types are erased. */
function reachedFrom(entry: string): { files: readonly string[]; packages: ReadonlySet<string> } {
  const files = [entry]
  const packages = new Set<string>()
  for (const path of files) {
    const source = fileURLToPath(new URL(`../src/${path}`, import.meta.url))
    for (const { specifier, isType } of readSource(path, readFileSync(source, 'utf8')).imports) {
      if (isType) continue
      const target = posix.join(posix.dirname(path), specifier)
      if (!specifier.startsWith('.')) packages.add(specifier)
      else if (!files.includes(target)) files.push(target)
    }
  }
  return { files, packages }
}
