import { WaitTimeoutError } from 'millrace'
import type { FinishedJob, JobKind, Mill } from 'millrace'
import { collect } from '../support/collect.ts'

/** How the job ended; if it does not, all that is known of it. */
export async function ended<K extends JobKind>(
  mill: Mill,
  kind: K,
  id: string,
): Promise<FinishedJob<K>> {
  try {
    return await mill.jobs.wait(kind, id, { timeout: '20s' })
  } catch (error) {
    if (!(error instanceof WaitTimeoutError)) throw error
    const facts = {
      job: await mill.jobs.get(id),
      explained: await mill.jobs.explain(id),
      journal: await collect(mill.jobs.journal(id)),
    }
    throw new Error(`a job did not end: ${JSON.stringify(facts)}`, { cause: error })
  }
}
