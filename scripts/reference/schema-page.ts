/** Runs a query without values and answers its rows; every column of the queries here is text or null. */
export type Ask = (text: string) => Promise<readonly Readonly<Record<string, unknown>>[]>

/** `docs/reference/schema.md`: what the migrations made, in the words of its `comment on`. */
export async function schemaPage(ask: Ask): Promise<string> {
  const relations = await texts(ask, RELATIONS)
  const columns = await texts(ask, COLUMNS)
  const indexes = await texts(ask, INDEXES)
  const checks = await texts(ask, CHECKS)
  const functions = await texts(ask, FUNCTIONS)
  const sections = relations.map((relation) => {
    const own = (row: Texts): boolean => row['relation'] === relation['relation']
    return [
      `## ${relation['relation']} (${relation['kind']})`,
      relation['comment'] ?? '',
      columnTable(columns.filter(own)),
      list('Indexes', indexes.filter(own)),
      list('Checks', checks.filter(own)),
    ]
  })
  return [HEAD, ...sections.flat(), ...functionSection(functions)]
    .filter((part) => part !== '')
    .join('\n\n')
    .concat('\n')
}

const HEAD = `# Schema

The tables, views and functions of one namespace, as the migrations make them in the schema \`millrace\` without a prefix.
For reading from SQL there are the views: their shape stays when the tables change.

This page is made from the comments in a migrated database by \`npm run reference\`.`

type Texts = Readonly<Record<string, string | null>>

async function texts(ask: Ask, query: string): Promise<readonly Texts[]> {
  const rows = await ask(query)
  return rows.map((row) =>
    Object.fromEntries(
      Object.entries(row).map(([name, value]) => [name, typeof value === 'string' ? value : null]),
    ),
  )
}

/** A view's columns have no comments of their own: their tables tell. */
function columnTable(columns: readonly Texts[]): string {
  if (columns.every((column) => column['comment'] === null)) {
    return `Columns: ${columns.map((column) => `\`${column['name']}\` ${column['type']}`).join(', ')}.`
  }
  const rows = columns.map(
    (column) =>
      `| \`${column['name']}\` | ${column['type']}${column['nullable'] ?? ''} | ${cell(column['comment'])} |`,
  )
  return ['| column | type | what it is |', '| --- | --- | --- |', ...rows].join('\n')
}

function list(title: string, rows: readonly Texts[]): string {
  if (rows.length === 0) return ''
  const lines = rows.map((row) => {
    const comment = row['comment'] === null ? '' : ` ${row['comment']}`
    return `- \`${row['name']}\`: \`${row['definition']}\`.${comment}`
  })
  return [`${title}:`, '', ...lines].join('\n')
}

function functionSection(functions: readonly Texts[]): readonly string[] {
  return functions.flatMap((row) => [
    `## ${row['name']} (function)`,
    row['comment'] ?? '',
    `\`\`\`sql\n${row['name']}(${row['parameters']}) returns ${row['returns']}\n\`\`\``,
  ])
}

function cell(text: string | null | undefined): string {
  return (text ?? '').replaceAll('|', '\\|')
}

// In the order of their making, so that a table comes before what is built on it.
const RELATIONS = `
select c.relname as relation, case c.relkind when 'v' then 'view' else 'table' end as kind,
  obj_description(c.oid, 'pg_class') as comment
from pg_class c
where c.relnamespace = 'millrace'::regnamespace and c.relkind in ('r', 'v')
order by c.relkind, c.oid`

const COLUMNS = `
select c.relname as relation, a.attname as name, format_type(a.atttypid, a.atttypmod) as type,
  case when c.relkind = 'r' and not a.attnotnull then ', null' end as nullable,
  col_description(c.oid, a.attnum) as comment
from pg_attribute a
join pg_class c on c.oid = a.attrelid
where c.relnamespace = 'millrace'::regnamespace and c.relkind in ('r', 'v') and a.attnum > 0 and not a.attisdropped
order by c.oid, a.attnum`

const INDEXES = `
select t.relname as relation, i.relname as name,
  regexp_replace(pg_get_indexdef(i.oid), '^CREATE (UNIQUE )?INDEX \\S+ ON \\S+ USING btree ', '\\1') as definition,
  obj_description(i.oid, 'pg_class') as comment
from pg_index x
join pg_class i on i.oid = x.indexrelid
join pg_class t on t.oid = x.indrelid
where t.relnamespace = 'millrace'::regnamespace
order by t.oid, i.oid`

const CHECKS = `
select t.relname as relation, c.conname as name, pg_get_constraintdef(c.oid, true) as definition, null as comment
from pg_constraint c
join pg_class t on t.oid = c.conrelid
where t.relnamespace = 'millrace'::regnamespace and c.contype = 'c'
order by t.oid, c.oid`

const FUNCTIONS = `
select p.proname as name, pg_get_function_arguments(p.oid) as parameters, pg_get_function_result(p.oid) as returns,
  obj_description(p.oid, 'pg_proc') as comment
from pg_proc p
where p.pronamespace = 'millrace'::regnamespace
order by p.proname, p.oid`
