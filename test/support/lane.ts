import type { Lane } from '../../src/database/executor.ts'

/** The lane, with something that happens before a statement is sent: the moment in between of a race. */
export function beforeEach(lane: Lane, happens: (statement: string) => Promise<void>): Lane {
  return {
    ...lane,
    async run(statement, params) {
      await happens(statement.name)
      return lane.run(statement, params)
    },
  }
}
