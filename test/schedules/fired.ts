import { defineJob } from '../../src/index.ts'
import type { Mill, Worker } from '../../src/index.ts'

/** The boundaries of a schedule that have a job of their own, in order. */
export async function boundariesOf(mill: Mill, schedule: string): Promise<readonly number[]> {
  const found: number[] = []
  for await (const job of mill.jobs.list({ schedule })) {
    found.push(job.schedule?.boundary.getTime() ?? Number.NaN)
  }
  return found.toSorted((a, b) => a - b)
}

/** When a schedule fires next, in milliseconds. */
export async function nextOf(mill: Mill, schedule: string): Promise<number | undefined> {
  const all = await mill.schedules.list()
  return all.find(({ name }) => name === schedule)?.nextFireAt?.getTime()
}

/** A worker that handles none of the kinds that are scheduled: any worker fires. */
export async function startStranger(mill: Mill): Promise<Worker> {
  const worker = mill.worker().handle(defineJob('stranger'), () => undefined)
  await worker.start()
  return worker
}
