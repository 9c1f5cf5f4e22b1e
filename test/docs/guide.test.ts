import { spawnSync } from 'node:child_process'
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { readPage } from '../support/guide.ts'
import { runProgram } from '../support/program.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))
const guide = readdirSync(join(root, 'docs/guide')).map((name) => `docs/guide/${name}`)
const pages = ['README.md', ...guide].filter(bringsItsProgram).map((path) => ({
  path,
  page: readPage(readFileSync(join(root, path), 'utf8')),
}))
const runnable = pages.flatMap(({ path, page }) =>
  page.runnable.map((block) => [`${path} line ${block.line}`, block] as const),
)

let folder: string

// What a page with an example of its name shows are parts of that program (examples.test.ts), unless
// it says what the rest of it assumes.
function bringsItsProgram(path: string): boolean {
  const example = join(root, 'examples', `${basename(path, '.md')}.ts`)
  return !existsSync(example) || readFileSync(join(root, path), 'utf8').includes('<!-- assumes')
}

// In the package, so that programs import `millrace` by its name as an application does.
beforeAll(() => {
  mkdirSync(join(root, 'build'), { recursive: true })
  folder = mkdtempSync(join(root, 'build', 'guide-'))
})
afterAll(() => rmSync(folder, { recursive: true }))

test('every piece of TypeScript in the README and the guide compiles', { timeout: 90_000 }, () => {
  const programs = pages.flatMap(({ path, page }) => [
    [fileName(path), page.program] as const,
    ...page.runnable.map((block) => [fileName(path, block.line), block.program] as const),
  ])
  expect(compilerErrors('pages', new Map(programs))).toEqual([])
})

test(
  'planted: a mistake on a page is found, with the line of the page',
  { timeout: 90_000 },
  () => {
    const { program } = readPage(
      [
        '# A page',
        '<!-- assumes',
        "import { defineJob, open, typed } from 'millrace'",
        '-->',
        '```ts',
        "const ship = defineJob('ship', { input: typed<{ order: number }>() })",
        '```',
        'And then:',
        '```ts',
        'const mill = await open()',
        "await mill.enqueue(ship, { order: 'one' })",
        '```',
      ].join('\n'),
    )
    const errors = compilerErrors('planted', new Map([['page.ts', program]]))
    expect(errors).toEqual([expect.stringMatching(/page\.ts\(11,\d+\): error TS2322/)])
  },
)

test('the guide has programs that run', () => {
  expect(runnable.length).toBeGreaterThan(0)
})

test.each(runnable)(
  '%s runs as it stands, and prints what the page says',
  { timeout: 120_000 },
  async (name, block) => {
    const path = join(folder, fileName(name))
    writeFileSync(path, block.program)
    const { code, out, errors } = await runProgram(path)
    expect({ code, errors }).toEqual({ code: 0, errors: '' })
    expect(out).toBe(block.output ?? out)
  },
)

test('a page keeps its lines, and knows what a program prints', () => {
  const markdown = [
    '```ts run',
    'print()',
    '```',
    '',
    '```text',
    '1',
    '2',
    '```',
    '```ts',
    'x',
    '```',
  ]
  const { program, runnable: blocks } = readPage(markdown.join('\n'))
  expect(program.split('\n')[9]).toBe('x')
  expect(blocks).toEqual([{ line: 2, program: '\nprint()\nexport {}\n', output: '1\n2\n' }])
  expect(() => readPage('```ts\nx')).toThrow('the block that begins in line 1 does not end')
})

/** What the compiler says, one line an error. */
function compilerErrors(name: string, programs: ReadonlyMap<string, string>): readonly string[] {
  const project = join(folder, name)
  mkdirSync(project)
  for (const [file, program] of programs) writeFileSync(join(project, file), program)
  const config = {
    extends: '../../../tsconfig.json',
    compilerOptions: { isolatedDeclarations: false, declaration: false, declarationMap: false },
    include: ['*.ts'],
    exclude: [],
  }
  writeFileSync(join(project, 'tsconfig.json'), JSON.stringify(config))
  const compiler = join(root, 'node_modules/typescript/bin/tsc')
  const done = spawnSync(process.execPath, [compiler, '-p', project], {
    cwd: project,
    encoding: 'utf8',
  })
  return done.stdout.split('\n').filter((line) => line.includes('error TS'))
}

function fileName(path: string, line?: number): string {
  const name = path.replaceAll(/[^\w]+/g, '-')
  return line === undefined ? `${name}.ts` : `${name}-${line}.ts`
}
