import { jobsPerSecond, millisecondsEach } from './figures.ts'
import type { Figures, Phase, PhaseName } from './figures.ts'

/**
 * What bounds a phase, as far as can be told from this side: the commit, this process, or else the
 * server and the way to it. Pure, as is the advice: figures in, sentences out.
 */
export function boundOf(phase: Phase, { roundTripMs, commitMs }: Figures): string {
  const busy = `${Math.round(share(phase) * 100)} % of a core`
  if (phase.name === 'one-by-one') {
    const each = millisecondsEach(phase)
    if (commitMs >= each * MOST_OF_IT) return `the commit, ${ms(commitMs)} of ${ms(each)}`
    if (roundTripMs >= each * MOST_OF_IT) return `the round trip, ${ms(roundTripMs)} of ${ms(each)}`
    return `the statement, ${ms(each)} with a commit of ${ms(commitMs)}`
  }
  if (share(phase) >= BUSY) return `this process, ${busy}`
  return `the server and the way to it; this process ${busy}`
}

/** What the figures suggest; none where nothing stands out. */
export function adviceOf(figures: Figures): readonly string[] {
  return [
    ...aboutCommits(figures),
    ...aboutDistance(figures),
    ...aboutCallers(figures),
    ...aboutDrain(figures),
    ...aboutDurability(figures),
  ]
}

/** For people: two digits that count. */
export function ms(milliseconds: number): string {
  const digits = milliseconds < 1 ? 2 : milliseconds < 10 ? 1 : 0
  return `${milliseconds.toFixed(digits)} ms`
}

const MOST_OF_IT = 0.6
const BUSY = 0.85
const SLOW_COMMIT = 3
const FAR = 1
const MUCH_FASTER = 3
const FASTER = 1.2

function share({ nodeMs, elapsedMs }: Phase): number {
  return elapsedMs === 0 ? 0 : nodeMs / elapsedMs
}

function aboutCommits({ commitMs }: Figures): readonly string[] {
  if (commitMs < SLOW_COMMIT) return []
  const most = Math.round(1_000 / commitMs)
  return [
    `A commit takes ${ms(commitMs)}: who awaits each enqueue comes to ${most} jobs/s at most. Enqueue together, by enqueueMany or by calls at the same time, which share a commit.`,
  ]
}

function aboutDistance({ roundTripMs }: Figures): readonly string[] {
  if (roundTripMs < FAR) return []
  return [
    `The server is ${ms(roundTripMs)} away, which every statement waits for. Run workers near it; batches and a higher concurrency hide some of it.`,
  ]
}

function aboutCallers({ phases }: Figures): readonly string[] {
  const ratio = ratioOf(phases, 'callers', 'one-by-one')
  if (ratio < MUCH_FASTER) return []
  return [
    `Callers at the same time enqueue ${ratio.toFixed(0)} × as much as one that awaits each call: they share statements and commits.`,
  ]
}

function aboutDrain({ phases }: Figures): readonly string[] {
  const drain = phases.find(({ name }) => name === 'drain')
  if (drain === undefined) return []
  const ratio = ratioOf(phases, 'drain', 'drain-default')
  const more =
    ratio < FASTER
      ? 'A higher concurrency gains little for handlers that do nothing: raise it for those that wait for something.'
      : `The higher concurrency drains ${ratio.toFixed(1)} × as much as the default.`
  const processes =
    share(drain) < BUSY
      ? 'More worker processes help only if the server has processors to spare.'
      : 'A worker uses one core: a second process adds to it, as long as the server has processors to spare.'
  return [more, processes]
}

function aboutDurability({ server }: Figures): readonly string[] {
  if (server.synchronousCommit !== 'off') return []
  return [
    'synchronous_commit is off: these numbers are those of a server that may forget, when it crashes, what it confirmed last.',
  ]
}

function ratioOf(phases: readonly Phase[], of: PhaseName, to: PhaseName): number {
  const [above, below] = [of, to].map((each) => phases.find(({ name }) => name === each))
  if (above === undefined || below === undefined) return 0
  return jobsPerSecond(above) / jobsPerSecond(below)
}
