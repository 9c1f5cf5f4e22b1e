import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { runProgram } from '../support/program.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))
const read = (path: string): string => readFileSync(join(root, path), 'utf8')
const examples = readdirSync(join(root, 'examples')).filter((name) => name.endsWith('.ts'))

test.each(examples)(
  'examples/%s runs as it stands on the built package',
  { timeout: 120_000 },
  async (name) => {
    const { code, out, errors } = await runProgram(join('examples', name))
    expect({ code, errors }).toEqual({ code: 0, errors: '' })
    expect(out).toContain('completed')
  },
)

test('the program in the README is examples/hello.ts', () => {
  expect(read('README.md')).toContain(`\`\`\`ts\n${read('examples/hello.ts')}\`\`\``)
})

// The other pages bring their programs with them: guide.test.ts.
const pages = readdirSync(join(root, 'docs/guide')).filter((name) =>
  examples.includes(name.replace(/\.md$/, '.ts')),
)

test.each(pages)('each part of the example of docs/guide/%s is on the page', (page) => {
  const text = read(join('docs/guide', page))
  const parts = regions(read(join('examples', page.replace(/\.md$/, '.ts'))))
  expect(parts.length).toBeGreaterThan(0)
  expect(parts.filter((part) => !text.includes(`\`\`\`ts\n${part}\`\`\``))).toEqual([])
})

/** What stands between `// #region` and `// #endregion`. */
function regions(program: string): readonly string[] {
  return [...program.matchAll(/\/\/ #region .*\n([^]*?)\/\/ #endregion/g)].map(
    ([, part = '']) => part,
  )
}
