import { Visitor } from 'vite'
import type { Statement } from '../../src/database/statement.ts'
import { parseSource } from './comments.ts'

/** A source file, what it says, and what it exports when it is run. */
export interface StatementModule {
  /** Relative to `src`. */
  readonly path: string
  readonly source: string
  readonly exported: Readonly<Record<string, unknown>>
}

/** `docs/reference/statements.md`: each exported statement with the comment above it and its text. */
export function statementsPage(modules: readonly StatementModule[]): string {
  const sections = modules.flatMap((module) => {
    const statements = statementsOf(module)
    return statements.length === 0 ? [] : [`\n## src/${module.path}\n${statements.join('')}`]
  })
  return `${HEAD}${sections.join('')}`
}

const HEAD = `# Statements

Every SQL statement of Millrace, by the file it is written in, for the default schema. Each is prepared under its name, and
the name is what traces and errors show. \`$now\` is the instant of the client's clock.

This page is made from the statements themselves by \`npm run reference\`.
`

function statementsOf(module: StatementModule): readonly string[] {
  const comments = exportComments(module)
  return Object.entries(module.exported).flatMap(([name, value]) =>
    isStatement(value) ? [section(value, comments.get(name) ?? '')] : [],
  )
}

function section(statement: Statement, comment: string): string {
  const parameters = statement.parameters.map((name) => `\`$${name}\``).join(', ')
  const words = [comment, parameters === '' ? '' : `Parameters: ${parameters}`]
  const paragraphs = words.filter((text) => text !== '').join('\n\n')
  return `\n### ${statement.name}\n\n${paragraphs}\n\n\`\`\`sql\n${tidy(statement.text)}\n\`\`\`\n`
}

/** Texts are put together of parts: no blanks at the ends of lines, no empty lines where they meet. */
function tidy(text: string): string {
  return text
    .split('\n')
    .map((line) => line.trimEnd())
    .filter((line) => line !== '')
    .join('\n')
}

/** The comments above `export const`, by the name that is exported. */
function exportComments(module: StatementModule): ReadonlyMap<string, string> {
  const parsed = parseSource(module.path, module.source)
  const found = new Map<string, string>()
  new Visitor({
    ExportNamedDeclaration(node) {
      if (node.declaration?.type !== 'VariableDeclaration') return
      for (const { id } of node.declaration.declarations) {
        if (id.type === 'Identifier') found.set(id.name, parsed.commentAbove(node.start))
      }
    },
  }).visit(parsed.program)
  return found
}

function isStatement(value: unknown): value is Statement {
  return typeof value === 'object' && value !== null && 'text' in value && 'parameters' in value
}
