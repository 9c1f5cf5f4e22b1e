/** What the specification names, for the table that shows which tests hold it. */
export interface Chapter {
  readonly title: string
  readonly behaviours: readonly (readonly [name: string, what: string])[]
}

/** The letters of the specification, by its sections. */
export const LETTERS: readonly Chapter[] = [
  {
    title: 'Enqueue',
    behaviours: [
      ['E1', 'in the caller’s transaction, or coalesced outside one'],
      ['E2', 'the same id again is a no-op, whatever was answered or lost'],
      ['E3', 'options resolved call over kind over queue over default, and stamped'],
      ['E4', 'delay, instant and expiry'],
      ['E5', 'any number at once, all or nothing'],
      ['E6', 'input is validated and encoded before any I/O'],
      ['E7', 'an SQL function for triggers and other languages'],
      ['E8', 'a wake-up goes with what is due soon, in the same commit'],
    ],
  },
  {
    title: 'Dedup and merge',
    behaviours: [
      ['D1', 'the key and its candidate; live keys, reruns'],
      ['D2', 'what a merge decides, and what becomes of the job'],
      ['D3', 'each decision is in the journal'],
      ['D4', 'first asks and merges are free of races'],
      ['D5', 'a job that returns stands beside its twin and waits for nobody'],
      ['D6', 'what cannot be decoded does not block its key'],
      ['D7', 'throttle and debounce'],
    ],
  },
  {
    title: 'Claim',
    behaviours: [
      ['C1', 'by priority, due time and id; queues take turns'],
      ['C2', 'only kinds that the worker handles'],
      ['C3', 'levels take turns: no starvation'],
      ['C4', 'caps per worker, queue and kind'],
      ['C5', 'paused queues'],
      ['C6', 'a claim counts the run and takes the lease'],
      ['C7', 'awake when the soonest job is due'],
      ['C8', 'a claim whose answer was lost comes back without a failure'],
    ],
  },
  {
    title: 'Leases, recovery, ownership',
    behaviours: [
      ['L1', 'leases are renewed while the run lives'],
      ['L2', 'who owns a run, and what a lost one may still write'],
      ['L3', 'lapsed leases are recovered, once, as a failure'],
      ['L4', 'handles: runs in one’s own hands'],
      ['L5', 'timeouts are apart from leases'],
    ],
  },
  {
    title: 'Outcomes',
    behaviours: [
      ['O1', 'one record for each move that applied, none for one that missed'],
      ['O2', 'notes and errors of any kind are recorded, cut, never fatal'],
      ['O3', 'what cannot be encoded fails the run and says so'],
      ['O4', 'effects and settlement in one transaction'],
      ['O5', 'follow-ups are written with the settlement'],
      ['O6', 'a checkpoint saves the carry at once'],
    ],
  },
  {
    title: 'Cancel, retry, shutdown',
    behaviours: [
      ['X1', 'cancel: pending at once, running by request or by force'],
      ['X2', 'redrive'],
      ['X3', 'shutdown'],
      ['X4', 'reschedule'],
    ],
  },
  {
    title: 'Journal, history, retention, stats',
    behaviours: [
      ['H1', 'get, list and wait'],
      ['H2', 'the journal'],
      ['H3', 'explain'],
      ['H4', 'retention and cleanup'],
      ['H5', 'stats'],
      ['H6', 'lifecycle events'],
    ],
  },
  {
    title: 'Schedules',
    behaviours: [
      ['S1', 'cron and every; registering is idempotent'],
      ['S2', 'one job for one boundary, whoever fires'],
      ['S3', 'clock changes'],
      ['S4', 'pause, resume, remove, next, run by hand; options and overlap'],
    ],
  },
  {
    title: 'Locks',
    behaviours: [
      ['K1', 'one holder, a growing token, waits in the order they came'],
      ['K2', 'renewed while it is held, lost at its end, and told so'],
    ],
  },
  {
    title: 'Channels and outbox',
    behaviours: [
      ['N1', 'said to who listens now, and a resync where something may be missing'],
      ['B1', 'messages written with a commit, delivered in its order per key'],
    ],
  },
  {
    title: 'Migrations and verification',
    behaviours: [
      ['G1', 'migrate up, status, export, grants'],
      ['G2', 'the check at the start'],
      ['G3', 'verify'],
      ['G4', 'namespaces never meet'],
    ],
  },
]
