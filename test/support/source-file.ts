import { parseSync, Visitor } from 'vite'

/**
 * What the architecture test wants to know of one source file, read from its syntax tree and not
 * by pattern: a word in a comment, a string or a template is not an import.
 */
export interface SourceFile {
  /** Relative to `src`, with `/`. */
  readonly path: string
  readonly lines: number
  readonly imports: readonly Import[]
  /** True when the file does nothing but hand on what other files export. */
  readonly isBarrel: boolean
  /** Calls that read the machine's clock or roll dice, and uses of `console`. */
  readonly calls: readonly string[]
}

export interface Import {
  readonly specifier: string
  /** Erased by the compiler: `import type`, `export type`, or every name in it marked so. */
  readonly isType: boolean
}

export function readSource(path: string, text: string): SourceFile {
  const parsed = parseSync(path, text, { lang: 'ts' })
  const [fault] = parsed.errors
  if (fault !== undefined) throw new Error(`${path} does not parse: ${fault.message}`)
  const { body } = parsed.program
  return {
    path,
    lines: lineCount(text),
    imports: importsOf(parsed),
    isBarrel: body.length > 0 && body.every(isReExport),
    calls: callsOf(parsed.program),
  }
}

type Parsed = ReturnType<typeof parseSync>
type Program = Parsed['program']

/** As an editor counts them: a last line break begins no further line. */
function lineCount(text: string): number {
  return text.split('\n').length - (text.endsWith('\n') ? 1 : 0)
}

function importsOf(parsed: Parsed): readonly Import[] {
  const found: Import[] = []
  const add = (specifier: string, isType: boolean): void => void found.push({ specifier, isType })
  new Visitor({
    ImportDeclaration: (node) =>
      add(node.source.value, node.importKind === 'type' || allTypes(node.specifiers)),
    ExportNamedDeclaration: (node) => {
      if (node.source === null) return
      add(node.source.value, node.exportKind === 'type' || allTypes(node.specifiers))
    },
    ExportAllDeclaration: (node) => add(node.source.value, node.exportKind === 'type'),
    ImportExpression: (node) => {
      if (node.source.type === 'Literal') add(String(node.source.value), false)
    },
    TSImportType: (node) => add(node.source.value, true),
  }).visit(parsed.program)
  return found
}

function allTypes(specifiers: readonly object[]): boolean {
  const kinds = specifiers.map((specifier) =>
    'importKind' in specifier
      ? specifier.importKind
      : 'exportKind' in specifier
        ? specifier.exportKind
        : 'value',
  )
  return kinds.length > 0 && kinds.every((kind) => kind === 'type')
}

function isReExport(node: Program['body'][number]): boolean {
  if (node.type === 'ExportAllDeclaration') return true
  return node.type === 'ExportNamedDeclaration' && node.source !== null
}

const CLOCKS_AND_DICE: ReadonlySet<string> = new Set(['Date.now', 'Math.random', 'performance.now'])

function callsOf(program: Program): readonly string[] {
  const found: string[] = []
  new Visitor({
    MemberExpression: (node) => {
      if (node.object.type !== 'Identifier' || node.property.type !== 'Identifier') return
      const name = `${node.object.name}.${node.property.name}`
      if (CLOCKS_AND_DICE.has(name) || name.startsWith('console.')) found.push(name)
    },
    NewExpression: (node) => {
      const isDate = node.callee.type === 'Identifier' && node.callee.name === 'Date'
      if (isDate && node.arguments.length === 0) found.push('new Date()')
    },
    CallExpression: (node) => {
      if (node.callee.type === 'Identifier' && node.callee.name === 'Date') found.push('Date()')
    },
  }).visit(program)
  return found
}
