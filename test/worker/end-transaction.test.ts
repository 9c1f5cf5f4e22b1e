import { expect, test } from 'vitest'
import { namespace } from '../../src/database/namespace.ts'
import { bind } from '../../src/database/statement.ts'
import { boundTransaction, endTransaction } from '../../src/worker/lease-statements.ts'
import { databaseOfFile } from '../support/mill.ts'
import { sessionOn } from '../support/migrated.ts'

const bound = bind(boundTransaction, { idle_ms: '60000' }, namespace())

/** What the other needs to know of the transaction that is open. */
function known(row: Readonly<Record<string, unknown>> | undefined) {
  return { pid: Number(row?.['pid']), began: String(row?.['began']) }
}

test('O4: a doomed transaction is ended, and nothing that came after it on its connection', async () => {
  const url = await databaseOfFile()
  await using session = await sessionOn(url)
  await using other = await sessionOn(url)
  const end = (transaction: { pid: number; began: string }) =>
    other.query(bind(endTransaction, transaction, namespace()))

  const over = await session.transaction(async (transaction) => {
    const [row] = await transaction.query(bound)
    return known(row)
  })
  // Behind a pooler this would be a transaction of somebody else.
  await session.transaction(async (transaction) => {
    expect(await end(over)).toEqual([])
    await transaction.query(bound)
  })
  const doomed = session.transaction(async (transaction) => {
    const [row] = await transaction.query(bound)
    expect(await end(known(row))).toEqual([{ ended: true }])
    await transaction.query(bound)
  })
  await expect(doomed).rejects.toMatchObject({ code: 'DATABASE', retryable: true })
})
