import { defineStream, typed } from '../../index.ts'
import type { StreamDefinition } from '../../index.ts'

/** One event of the stream: what one webhook came to. */
export type ActivityEvent = {
  readonly delivery: string
  readonly event: string
  readonly commits: number
  readonly comments: number
}

/** What the application has done, for whoever wants to follow it. */
export const ACTIVITIES: StreamDefinition<{
  name: 'github.activities'
  input: ActivityEvent
  data: ActivityEvent
}> = defineStream('github.activities', { data: typed<ActivityEvent>() })
