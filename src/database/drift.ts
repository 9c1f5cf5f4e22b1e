import type { CatalogueObject, ExpectedObject } from './catalogue.ts'
import { migrationCommand } from './migration-command.ts'
import { placeText } from './migration-history.ts'
import type { DatabaseProblem } from './migration-history.ts'
import { quoted } from './namespace.ts'
import type { Namespace } from './namespace.ts'

/**
 * What somebody changed by hand since the migrations ran. Every table, view, column, index and
 * function of the migrations must be there as it was made; what was added beside them may stay (an
 * index for reports, a column with a default), unless it makes our own writes fail. Each problem
 * comes with the SQL that puts it right.
 */
export function drift(
  expected: readonly ExpectedObject[],
  live: readonly CatalogueObject[],
  namespace: Namespace,
): readonly DatabaseProblem[] {
  const there = new Map(live.map((object) => [keyOf(object), object]))
  const known = new Set(expected.map(keyOf))
  const isGone = (table: string): boolean =>
    !there.has(`table ${table}`) && !there.has(`view ${table}`)
  return [
    ...expected
      .filter((object) => !hangsOn(object, isGone))
      .flatMap((object) => changed(object, there.get(keyOf(object)), namespace)),
    ...live
      .filter((object) => !known.has(keyOf(object)))
      .flatMap((object) => inTheWay(object, namespace)),
  ]
}

function keyOf({ what, name }: CatalogueObject): string {
  return `${what} ${name}`
}

// A table that is gone is one problem, not one for each of its columns.
function hangsOn(object: CatalogueObject, isGone: (table: string) => boolean): boolean {
  if (object.what === 'column') return isGone(tableOf(object))
  return object.what === 'index' && isGone(tableOf(object))
}

function changed(
  expected: CatalogueObject,
  live: CatalogueObject | undefined,
  namespace: Namespace,
): readonly DatabaseProblem[] {
  if (live?.definition === expected.definition) return []
  const name = fullName(expected, namespace)
  const what =
    live === undefined
      ? `${name} is missing (the migrations made ${shown(expected)})`
      : `${name} was changed: it is ${shown(live)}, the migrations made ${shown(expected)}`
  return [{ code: 'drifted', what, command: cure(expected, live, namespace) }]
}

function inTheWay(object: CatalogueObject, namespace: Namespace): readonly DatabaseProblem[] {
  const name = fullName(object, namespace)
  if (object.what === 'column' && isDemanding(object.definition)) {
    const what = `${name} is not of the migrations and has no default, so that every insert fails`
    const table = objectName(namespace, tableOf(object))
    const command = `alter table ${table} alter column ${quoted(columnOf(object))} drop not null`
    return [{ code: 'drifted', what, command }]
  }
  if (object.what === 'index' && object.definition.startsWith('unique ')) {
    const what = `${name} is not of the migrations and refuses rows that they allow`
    return [{ code: 'drifted', what, command: `drop index ${objectName(namespace, object.name)}` }]
  }
  return []
}

function isDemanding(definition: string): boolean {
  return definition.endsWith(' not null') && !/ (default|generated) /.test(definition)
}

function cure(
  expected: CatalogueObject,
  live: CatalogueObject | undefined,
  namespace: Namespace,
): string {
  switch (expected.what) {
    case 'column':
      return columnCure(expected, live, namespace)
    case 'index':
      return indexCure(expected, live, namespace)
    case 'table':
    case 'view':
    case 'function':
      // What it held, or does, is in no single command: the exported migrations show how it was made.
      return migrationCommand(namespace, 'export --to millrace-sql')
    default:
      return expected.what satisfies never
  }
}

function columnCure(
  expected: CatalogueObject,
  live: CatalogueObject | undefined,
  namespace: Namespace,
): string {
  const table = `alter table ${objectName(namespace, tableOf(expected))}`
  const column = quoted(columnOf(expected))
  if (live === undefined) return `${table} add column ${column} ${expected.definition}`
  const is = columnParts(live.definition)
  const was = columnParts(expected.definition)
  const steps = [
    is.type === was.type ? '' : `alter column ${column} type ${was.type}`,
    is.fill === was.fill ? '' : `alter column ${column} ${fillCure(was.fill)}`,
    is.isNotNull === was.isNotNull
      ? ''
      : `alter column ${column} ${was.isNotNull ? 'set' : 'drop'} not null`,
  ]
  return `${table} ${steps.filter((step) => step !== '').join(', ')}`
}

function fillCure(fill: string): string {
  if (fill === '') return 'drop default'
  return fill.startsWith('generated ') ? `add ${fill}` : `set ${fill}`
}

function columnParts(definition: string): ColumnParts {
  const isNotNull = definition.endsWith(' not null')
  const text = isNotNull ? definition.slice(0, -' not null'.length) : definition
  const [type = ''] = text.split(/ (?=default |generated )/, 1)
  return { type, fill: text.slice(type.length + 1), isNotNull }
}

interface ColumnParts {
  readonly type: string
  /** `default 0`, `generated …`, or nothing. */
  readonly fill: string
  readonly isNotNull: boolean
}

function indexCure(
  expected: CatalogueObject,
  live: CatalogueObject | undefined,
  namespace: Namespace,
): string {
  const table = objectName(namespace, tableOf(expected))
  const name = quoted(namespace.prefix + expected.name)
  const [, kind = '', method = '', rest = ''] = INDEX.exec(expected.definition) ?? []
  if (kind === 'primary key') {
    const drop = live === undefined ? '' : `drop constraint ${name}, `
    return `alter table ${table} ${drop}add constraint ${name} primary key ${rest}`
  }
  const drop = live === undefined ? '' : `drop index ${objectName(namespace, expected.name)}; `
  return `${drop}create ${kind} ${name} on ${table} using ${method} ${rest}`
}

const INDEX = /^(index|unique index|primary key) on \S+ using (\w+) (.*)$/

function fullName(object: CatalogueObject, namespace: Namespace): string {
  const name = `${namespace.prefix}${object.name}`
  return `${object.what} "${name}" of ${placeText({ ...namespace, prefix: '' })}`
}

function shown(object: CatalogueObject): string {
  return object.definition === '' ? `this ${object.what}` : `"${object.definition}"`
}

function objectName(namespace: Namespace, name: string): string {
  return `${quoted(namespace.schema)}.${quoted(namespace.prefix + name)}`
}

function tableOf(object: CatalogueObject): string {
  if (object.what === 'column') return object.name.slice(0, object.name.indexOf('.'))
  return / on (\S+) using /.exec(object.definition)?.[1] ?? ''
}

function columnOf(object: CatalogueObject): string {
  return object.name.slice(object.name.indexOf('.') + 1)
}
