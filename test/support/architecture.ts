import { posix } from 'node:path'
import type { SourceFile } from './source-file.ts'

/**
 * The layer rules as a pure function: files in, faults out, one sentence each. The table itself is
 * a literal in `test/architecture.test.ts`, where a reader looks for it.
 */
export type LayerTable = Readonly<Record<string, Layer>>

export interface Layer {
  /** What it may import besides itself and `errors.ts`. */
  readonly from: readonly string[]
  /** Of these, types only. */
  readonly typesFrom?: readonly string[]
}

export function architectureFaults(
  files: readonly SourceFile[],
  table: LayerTable,
): readonly string[] {
  return [
    ...files.flatMap((file) => fileFaults(file)),
    ...files.flatMap((file) => layerFaults(file, table)),
    ...cycleFaults(files),
  ]
}

/** The name in the table of the layer a file belongs to: its top folder, or the top file itself. */
export function layerOf(path: string): string {
  const [first] = path.split('/')
  return first ?? path
}

const MOST_LINES = 300
const NAMELESS = new Set(['utils', 'util', 'helpers', 'common', 'lib', 'types', 'manager', 'misc'])
const KEBAB_CASE = /^[a-z0-9]+(-[a-z0-9]+)*(\.[a-z0-9]+)*$/
const MAY_READ_CLOCKS = new Set(['core/clock.ts', 'core/id.ts'])
const PUBLIC_DOORS = new Set(['index.ts', 'define.ts'])

function fileFaults(file: SourceFile): readonly string[] {
  const faults: string[] = []
  const segments = file.path.split('/')
  if (file.lines > MOST_LINES) {
    faults.push(`${file.path} has ${file.lines} lines, at most ${MOST_LINES}: cut it by noun`)
  }
  for (const segment of segments) {
    const name = segment.replace(/\.ts$/, '')
    if (NAMELESS.has(name)) faults.push(`${file.path}: "${name}" says nothing; name the noun`)
    if (!KEBAB_CASE.test(segment)) faults.push(`${file.path}: "${segment}" is not kebab-case`)
  }
  if (file.isBarrel && !PUBLIC_DOORS.has(doorName(segments))) {
    faults.push(`${file.path} only re-exports: import from the files themselves`)
  }
  for (const call of file.calls) {
    if (call.startsWith('console.'))
      faults.push(`${file.path} calls ${call}: domain code never logs`)
    else if (!MAY_READ_CLOCKS.has(file.path)) {
      faults.push(`${file.path} uses ${call}: clock and randomness are arguments`)
    }
  }
  return faults
}

/** The index of a public subpath (`testing/index.ts`) is a door as well. */
function doorName(segments: readonly string[]): string {
  const [folder, file] = segments
  const isSubpath = segments.length === 2 && (folder === 'testing' || folder === 'dashboard')
  return isSubpath ? (file ?? '') : segments.join('/')
}

function layerFaults(file: SourceFile, table: LayerTable): readonly string[] {
  const own = layerOf(file.path)
  const layer = table[own]
  if (layer === undefined) return [`${file.path}: no row for "${own}" in the layer table`]
  const faults: string[] = []
  for (const { specifier, isType } of file.imports) {
    const target = targetOf(file.path, specifier)
    if (target === undefined) continue
    const other = layerOf(target)
    const isAllowed =
      other === own ||
      other === 'errors.ts' ||
      layer.from.includes(other) ||
      (isType && layer.typesFrom?.includes(other) === true)
    if (!isAllowed) faults.push(`${file.path} imports ${target}: ${own} may not import ${other}`)
  }
  return faults
}

/** The file in `src` that a relative import means, or undefined for a package. */
function targetOf(path: string, specifier: string): string | undefined {
  if (!specifier.startsWith('.')) return undefined
  return posix.normalize(posix.join(posix.dirname(path), specifier))
}

/** One fault per file that can reach itself; types are erased, so they close no circle at run time. */
function cycleFaults(files: readonly SourceFile[]): readonly string[] {
  const edges = new Map(files.map((file) => [file.path, valueTargets(file)]))
  return files.flatMap((file) => {
    const circle = pathBack(file.path, edges)
    return circle === undefined ? [] : [`cycle: ${circle.join(' → ')}`]
  })
}

function valueTargets(file: SourceFile): readonly string[] {
  return file.imports
    .filter((entry) => !entry.isType)
    .flatMap((entry) => targetOf(file.path, entry.specifier) ?? [])
}

/** The shortest way from a file back to itself, breadth first. */
function pathBack(
  start: string,
  edges: ReadonlyMap<string, readonly string[]>,
): readonly string[] | undefined {
  const queue: (readonly string[])[] = [[start]]
  const seen = new Set<string>()
  for (const way of queue) {
    for (const next of edges.get(way.at(-1) ?? '') ?? []) {
      if (next === start) return [...way, next]
      if (!seen.has(next)) queue.push([...way, next])
      seen.add(next)
    }
  }
  return undefined
}
