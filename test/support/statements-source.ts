/** The text of `src/database/expected-statements.ts`, as the formatter would leave it. */
export function statementsSource(
  lines: readonly (readonly [name: string, types: string])[],
): string {
  return [...OPENING, ...lines.map(entryText), '}', ''].join('\n')
}

const OPENING = [
  '/**',
  " * The types of every statement's parameters and columns, as the server describes them on what the",
  ' * migrations make. Written by `npx vitest run test/database/verify.test.ts -u`, never by hand.',
  ' */',
  'export const EXPECTED_STATEMENTS: Readonly<Record<string, string>> = {',
]

function entryText([name, types]: readonly [string, string]): string {
  const line = `  ${name}: '${types}',`
  return line.length <= 100 ? line : `  ${name}:\n    '${types}',`
}
