import { expect, test } from 'vitest'
import { databaseClock } from '../../src/core/clock.ts'
import type { Engine, Query, Row } from '../../src/database/database.ts'
import { executor } from '../../src/database/executor.ts'
import { namespace } from '../../src/database/namespace.ts'

test('E1: where the caller holds the only connection, his transaction tells the time as well', async () => {
  await using t = setup({ isSingleConnection: true })
  await t.statements.borrow(t.transaction)
  expect(t.asked).toEqual(['transaction: sample_clock'])
  expect(t.clock.needsSample()).toBe(false)
})

test('E1: else our own connection does, for his transaction may have failed', async () => {
  await using t = setup({ isSingleConnection: false })
  await t.statements.borrow(t.transaction)
  expect(t.asked).toEqual(['enqueue: sample_clock', 'enqueue: nothing'])
})

/** An engine that answers nothing but the time, on a clock that has not asked for it yet. */
function setup({ isSingleConnection }: { readonly isSingleConnection: boolean }) {
  const asked: string[] = []
  const answer =
    (who: string) =>
    async ({ name }: Query): Promise<readonly Row[]> => {
      asked.push(`${who}: ${name}`)
      return [{ database_time: 1_000, one: 1 }]
    }
  const engine: Engine = {
    driver: 'pglite',
    isSingleConnection,
    connect: async ({ purpose }) => ({
      query: answer(purpose),
      execute: refuse,
      transaction: refuse,
      isLost: false,
      wentSilent: false,
      giveUp: () => undefined,
      close,
      [Symbol.asyncDispose]: close,
    }),
    listen: refuse,
    close,
    [Symbol.asyncDispose]: close,
  }
  const clock = databaseClock()
  const statements = executor({
    engine,
    namespace: namespace(),
    origin: { schema: 'millrace', prefix: '' },
    clock,
    databaseClock: clock,
    timeoutMs: 1_000,
    prepare: true,
  })
  return {
    asked,
    clock,
    statements,
    transaction: { query: answer('transaction') },
    async [Symbol.asyncDispose]() {
      clock.close()
      await statements.close()
    },
  }
}

async function refuse(): Promise<never> {
  throw new Error('nobody asks for this')
}

async function close(): Promise<void> {}
