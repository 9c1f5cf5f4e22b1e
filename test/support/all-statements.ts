import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Statement } from '../../src/database/statement.ts'

const source = fileURLToPath(new URL('../../src/', import.meta.url))

/** Every statement that a file of `src` exports, as it is now: nobody has to keep a list. */
export async function allStatements(): Promise<readonly Statement[]> {
  const paths = readdirSync(source, { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.ts'))
    .map((path) => join(source, path))
    // Others, the command line among them, act when they are imported.
    .filter((path) => /export const \w+: Statement</.test(readFileSync(path, 'utf8')))
  const modules: readonly object[] = await Promise.all(paths.map((path) => import(path)))
  return modules.flatMap((each) => Object.values(each)).filter(isStatement)
}

function isStatement(value: unknown): value is Statement {
  return typeof value === 'object' && value !== null && 'text' in value && 'parameters' in value
}
