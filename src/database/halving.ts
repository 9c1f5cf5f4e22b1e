import { DatabaseError } from '../errors.ts'

/**
 * A statement for many rows that fails for one row's sake is halved until that row stands alone, so
 * that a text that cannot be stored costs only itself (never a batch, never a whole sweep).
 */
export async function halving<Item>(
  items: readonly Item[],
  work: (items: readonly Item[]) => Promise<void>,
  refused: (item: Item, error: unknown) => void,
): Promise<void> {
  try {
    await work(items)
  } catch (error) {
    const [item] = items
    if (!isForAMember(error) || item === undefined) throw error
    if (items.length === 1) {
      refused(item, error)
      return
    }
    const half = items.length >> 1
    await halving(items.slice(0, half), work, refused)
    await halving(items.slice(half), work, refused)
  }
}

// What one row can cause to a statement of many: data exceptions, integrity violations, exceeded
// limits, what a trigger raises, and what the server calls an error of its own.
const MEMBER_CLASSES = new Set(['22', '23', '54', 'P0', 'XX'])

/** Whether the fault may be of a single row, so that the others do without it. */
export function isForAMember(error: unknown): boolean {
  return (
    error instanceof DatabaseError &&
    error.sqlstate !== null &&
    MEMBER_CLASSES.has(error.sqlstate.slice(0, 2))
  )
}
