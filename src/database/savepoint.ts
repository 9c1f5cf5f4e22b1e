import type { Runner } from './executor.ts'
import { statement } from './statement.ts'
import type { Statement } from './statement.ts'

type Nothing = Record<string, never>

export const setSavepoint: Statement<Nothing, never> = statement(
  'set_savepoint',
  'savepoint millrace',
)
export const rollBackToSavepoint: Statement<Nothing, never> = statement(
  'roll_back_to_savepoint',
  'rollback to savepoint millrace',
)
export const releaseSavepoint: Statement<Nothing, never> = statement(
  'release_savepoint',
  'release savepoint millrace',
)

/**
 * Several statements in the caller's transaction, all or nothing: when one fails, or what feeds them
 * throws, the others are taken back, and the caller may go on with his transaction.
 */
export async function withSavepoint<T>(runner: Runner, work: () => Promise<T>): Promise<T> {
  await runner.run(setSavepoint, {})
  try {
    const result = await work()
    await runner.run(releaseSavepoint, {})
    return result
  } catch (error) {
    // Where even this fails the whole transaction is lost, and the first error is the one to tell.
    // Released after it: the same name may stand for an outer savepoint, to which others go back.
    await runner
      .run(rollBackToSavepoint, {})
      .then(() => runner.run(releaseSavepoint, {}))
      .catch(() => undefined)
    throw error
  }
}
