import type { CatalogueObject, ExpectedObject } from '../../src/database/catalogue.ts'

/**
 * Each object with the migration that last changed it, from what the database showed after each
 * migration: `history[0]` after the first.
 */
export function objectsSince(
  history: readonly (readonly CatalogueObject[])[],
): readonly ExpectedObject[] {
  const last = history.at(-1) ?? []
  return last.map((object) => {
    const differing = history.findLastIndex(
      (objects) => !objects.some((one) => isSame(one, object)),
    )
    return { ...object, since: differing + 2 }
  })
}

/** The text of `src/database/expected-catalogue.ts`, as the formatter would leave it. */
export function catalogueSource(objects: readonly ExpectedObject[]): string {
  const migrations = [...new Set(objects.map(({ since }) => since))].toSorted((a, b) => a - b)
  return [
    ...OPENING,
    ...migrations.flatMap((since) => [
      `  ${since}: {`,
      ...entries(objects.filter((object) => object.since === since)),
      '  },',
    ]),
    '}',
    '',
  ].join('\n')
}

const OPENING = [
  '/**',
  ' * What each migration made that still is as it made it. Written by',
  ' * `npx vitest run test/database/expected-catalogue.test.ts -u`, never by hand.',
  ' */',
  'export const EXPECTED_CATALOGUE: Readonly<Record<number, Readonly<Record<string, string>>>> = {',
]

function entries(objects: readonly ExpectedObject[]): readonly string[] {
  const tables = objects.filter(({ what }) => what === 'table' || what === 'view')
  const isFolded = ({ what, name }: ExpectedObject): boolean =>
    what === 'column' && tables.some((table) => name.startsWith(`${table.name}.`))
  const lines = objects
    .filter((object) => !isFolded(object))
    .map((object): readonly [string, string] => {
      const key = `${object.what} ${object.name}`
      if (!tables.includes(object)) return [key, object.definition]
      return [
        key,
        objects
          .filter((one) => isFolded(one))
          .flatMap(columnOf(object.name))
          .join('; '),
      ]
    })
  const keys = new Set(lines.map(([key]) => key))
  if (keys.size < lines.length)
    throw new Error('two functions of one name: give the key its arguments')
  return lines.toSorted(([one], [other]) => (one < other ? -1 : 1)).map(entryText)
}

function columnOf(table: string): (column: ExpectedObject) => readonly string[] {
  return ({ name, definition }) =>
    name.startsWith(`${table}.`) ? [`${name.slice(table.length + 1)} ${definition}`] : []
}

function entryText([key, value]: readonly [string, string]): string {
  const line = `    '${key}': ${stringText(value)},`
  return line.length <= 100 ? line : `    '${key}':\n      ${stringText(value)},`
}

function stringText(value: string): string {
  const count = (quote: string): number => value.split(quote).length - 1
  const quote = count("'") > count('"') ? '"' : "'"
  return `${quote}${value.replaceAll('\\', '\\\\').replaceAll(quote, `\\${quote}`)}${quote}`
}

function isSame(one: CatalogueObject, other: CatalogueObject): boolean {
  return one.what === other.what && one.name === other.name && one.definition === other.definition
}
