import { defineJob, typed } from 'millrace'
import type { JobKind, Mill } from 'millrace'
import { statementTimes } from './statement-times.ts'
import type { StatementTime } from './statement-times.ts'

interface StepTypes {
  name: 'step'
  input: { number: number }
  parsed: { number: number }
  carry: undefined
  result: unknown
}

/** The kind that a step worker knows. */
export const stepKind: JobKind<StepTypes> = defineJob('step', {
  input: typed<StepTypes['input']>(),
})

/**
 * A worker that claims when it is told to: all its runs end at the same moment, so that its next
 * claim asks for all its slots. What it sent on its claiming connection meanwhile is the step.
 */
export interface StepWorker {
  readonly slots: number
  /** Ends what runs; resolves when as many run again. More than the slots must wait. */
  step(): Promise<readonly StatementTime[]>
  stop(): Promise<void>
}

export interface StepWorkerOptions {
  readonly schema: string
  readonly slots: number
  readonly fairness: 'strict' | 'rotate'
}

/** Started, with every slot taken: `first` is what its first claim cost, from no mark. */
export async function stepWorker(
  mill: Mill,
  { schema, slots, fairness }: StepWorkerOptions,
): Promise<StepWorker & { readonly first: readonly StatementTime[] }> {
  let running = 0
  let round = newRound()
  let sent: StatementTime[] = []
  const deafen = statementTimes({ lane: 'claim', schema }, (time) => sent.push(time))
  const worker = mill
    .worker({ concurrency: slots, fairness, ahead: 0 })
    .handle(stepKind, async () => {
      const own = round
      running += 1
      if (running === slots) own.fill()
      await own.over
    })

  async function takeRound(): Promise<readonly StatementTime[]> {
    await round.full
    // The claim that brought the last row may be told of just after its jobs have begun.
    await new Promise((resolve) => setImmediate(resolve))
    const times = sent
    sent = []
    return times
  }

  await worker.start()
  const first = await takeRound()
  return {
    slots,
    first,
    step() {
      const ended = round
      running = 0
      round = newRound()
      ended.end()
      return takeRound()
    },
    async stop() {
      round.end()
      await worker.stop()
      deafen()
    },
  }
}

interface StepRound {
  /** Resolves when all slots are taken. */
  readonly full: Promise<void>
  readonly fill: () => void
  /** Resolves when the runs are to end. */
  readonly over: Promise<void>
  readonly end: () => void
}

function newRound(): StepRound {
  const fillings: (() => void)[] = []
  const endings: (() => void)[] = []
  return {
    full: new Promise((resolve) => fillings.push(resolve)),
    fill: () => fillings.forEach((resolve) => resolve()),
    over: new Promise((resolve) => endings.push(resolve)),
    end: () => endings.forEach((resolve) => resolve()),
  }
}
