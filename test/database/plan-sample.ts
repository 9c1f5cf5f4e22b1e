import type { Query } from '../../src/database/database.ts'
import type { Namespace } from '../../src/database/namespace.ts'
import { bind } from '../../src/database/statement.ts'
import type { Parameters, Statement } from '../../src/database/statement.ts'

/** A statement with parameters as a client would give them. */
export interface PlanSample {
  readonly name: string
  readonly query: (place: Namespace) => Query
  /** The indexes that it must read. */
  readonly reads: readonly string[]
  /** Those that it may read beside them. */
  readonly mayRead: readonly string[]
  /** Prepared: a plan made when its tables were one page long may be kept. */
  readonly isPrepared: boolean
}

export function hot<P extends Parameters>(
  statement: Statement<P>,
  params: P & Parameters,
  reads: readonly string[],
): PlanSample {
  const query = (place: Namespace): Query => bind(statement, params, place)
  return { name: statement.name, query, reads, mayRead: [], isPrepared: true }
}

export function rare<P extends Parameters>(
  statement: Statement<P>,
  params: P & Parameters,
  reads: readonly string[],
): PlanSample {
  return { ...hot(statement, params, reads), isPrepared: false }
}
