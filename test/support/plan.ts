import { escapeLiteral } from 'pg'
import type { Client } from 'pg'
import type { Query } from '../../src/database/database.ts'

/** A node of EXPLAIN's JSON, as far as the tests look at it. */
export interface PlanNode {
  readonly 'Node Type': string
  readonly 'Relation Name'?: string
  readonly 'Index Name'?: string
  readonly 'Index Cond'?: string
  readonly Plans?: readonly PlanNode[]
}

export type PlanMode = 'force_custom_plan' | 'force_generic_plan'

/** The plan of a query in one of the two ways a prepared statement may be planned. */
export async function planOf(sql: Client, mode: PlanMode, query: Query): Promise<PlanNode> {
  const { text, values } = query
  const list = values.map((value) => (value === null ? 'null' : escapeLiteral(String(value))))
  const call = list.length === 0 ? 'execute planned' : `execute planned(${list.join(', ')})`
  await sql.query(`set plan_cache_mode = ${mode}`)
  await sql.query(`prepare planned as ${text}`)
  try {
    const { rows } = await sql.query<{ 'QUERY PLAN': [{ Plan: PlanNode }] }>(
      `explain (format json) ${call}`,
    )
    const [explained] = rows
    if (explained === undefined) throw new Error('the server explained nothing')
    return explained['QUERY PLAN'][0].Plan
  } finally {
    await sql.query('deallocate planned')
  }
}

/** The node and everything below it. */
export function* nodesOf(node: PlanNode): Generator<PlanNode, void> {
  yield node
  for (const child of node.Plans ?? []) yield* nodesOf(child)
}

/** What a plan does that no hot statement may do, in words. */
export function faultsOf(plan: PlanNode): readonly string[] {
  return [...nodesOf(plan)].flatMap((node) => {
    const type = node['Node Type']
    const table = node['Relation Name'] ?? node['Index Name'] ?? ''
    if (type === 'Seq Scan' || type.startsWith('Bitmap')) return [`${type} on ${table}`]
    if (!type.endsWith('Sort')) return []
    return tablesBelow(node).map((below) => `${type} of all rows of ${below}`)
  })
}

/** The tables whose rows reach this node without a limit in between. */
function tablesBelow(node: PlanNode): readonly string[] {
  return (node.Plans ?? []).flatMap((child) => {
    if (child['Node Type'] === 'Limit') return []
    // Rows looked up by id, as many as were asked for, are no walk.
    const isLookUp = child['Index Cond']?.includes(' = ') === true
    if (isLookUp && child['Index Name']?.endsWith('_pkey') === true) return []
    const table = child['Relation Name']
    return table === undefined ? tablesBelow(child) : [table]
  })
}

/** The indexes a plan reads. */
export function indexesOf(plan: PlanNode): ReadonlySet<string> {
  return new Set([...nodesOf(plan)].flatMap((node) => node['Index Name'] ?? []))
}
