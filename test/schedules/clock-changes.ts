/**
 * What schedules do where clocks change, as a table: the first fires after an instant. The guide
 * shows it, and the test beside it holds the code to it. Local times are for readers.
 */
export interface ClockChange {
  readonly zone: string
  readonly change: string
  readonly cron: string
  /** All boundaries between the two instants. */
  readonly from: string
  readonly to: string
  readonly fires: readonly string[]
}

const BERLIN = 'Europe/Berlin'
const NEW_YORK = 'America/New_York'
const LORD_HOWE = 'Australia/Lord_Howe'
const KATHMANDU = 'Asia/Kathmandu'

const berlinSpring = {
  zone: BERLIN,
  change: '30 March 2025, 02:00 becomes 03:00',
  from: '2025-03-29T12:00Z',
  to: '2025-03-31T12:00Z',
}
const berlinAutumn = {
  zone: BERLIN,
  change: '26 October 2025, 03:00 becomes 02:00',
  from: '2025-10-25T12:00Z',
  to: '2025-10-27T12:00Z',
}
const newYorkSpring = {
  zone: NEW_YORK,
  change: '9 March 2025, 02:00 becomes 03:00',
  from: '2025-03-08T12:00Z',
  to: '2025-03-10T12:00Z',
}
const newYorkAutumn = {
  zone: NEW_YORK,
  change: '2 November 2025, 02:00 becomes 01:00',
  from: '2025-11-01T12:00Z',
  to: '2025-11-03T12:00Z',
}
const lordHoweSpring = {
  zone: LORD_HOWE,
  change: '5 October 2025, 02:00 becomes 02:30',
  from: '2025-10-04T00:00Z',
  to: '2025-10-05T23:00Z',
}
const lordHoweAutumn = {
  zone: LORD_HOWE,
  change: '6 April 2025, 02:00 becomes 01:30',
  from: '2025-04-05T00:00Z',
  to: '2025-04-06T23:00Z',
}
const kathmandu = { zone: KATHMANDU, change: 'none, 5:45 ahead of UTC' }

export const CLOCK_CHANGES: readonly ClockChange[] = [
  // A time of the day that is left out fires when the gap is over.
  {
    ...berlinSpring,
    cron: '30 2 * * *',
    fires: ['2025-03-30T01:00Z', '2025-03-31T00:30Z'],
  },
  // Two of them are one instant, and so one fire.
  {
    ...berlinSpring,
    cron: '15,45 2 * * *',
    fires: ['2025-03-30T01:00Z', '2025-03-31T00:15Z', '2025-03-31T00:45Z'],
  },
  {
    ...berlinSpring,
    cron: '0 2,3 * * *',
    fires: ['2025-03-30T01:00Z', '2025-03-31T00:00Z', '2025-03-31T01:00Z'],
  },
  {
    ...berlinSpring,
    cron: '30 1 * * *',
    fires: ['2025-03-30T00:30Z', '2025-03-30T23:30Z'],
  },
  {
    ...berlinSpring,
    cron: '0 6 * * MON',
    fires: ['2025-03-31T04:00Z'],
  },
  // All hours are real time: as many fires as quarters passed.
  {
    ...berlinSpring,
    cron: '*/15 * * * *',
    from: '2025-03-30T00:20Z',
    to: '2025-03-30T01:40Z',
    fires: [
      '2025-03-30T00:30Z',
      '2025-03-30T00:45Z',
      '2025-03-30T01:00Z',
      '2025-03-30T01:15Z',
      '2025-03-30T01:30Z',
    ],
  },
  // A time that comes twice fires the first time.
  {
    ...berlinAutumn,
    cron: '30 2 * * *',
    fires: ['2025-10-26T00:30Z', '2025-10-27T01:30Z'],
  },
  {
    ...berlinAutumn,
    cron: '30 1 * * *',
    fires: ['2025-10-25T23:30Z', '2025-10-27T00:30Z'],
  },
  {
    ...berlinAutumn,
    cron: '0 */2 * * *',
    from: '2025-10-25T21:00Z',
    to: '2025-10-26T04:00Z',
    fires: ['2025-10-25T22:00Z', '2025-10-26T00:00Z', '2025-10-26T03:00Z'],
  },
  {
    ...berlinAutumn,
    cron: '*/15 * * * *',
    from: '2025-10-26T00:20Z',
    to: '2025-10-26T01:50Z',
    fires: [
      '2025-10-26T00:30Z',
      '2025-10-26T00:45Z',
      '2025-10-26T01:00Z',
      '2025-10-26T01:15Z',
      '2025-10-26T01:30Z',
      '2025-10-26T01:45Z',
    ],
  },
  {
    ...newYorkSpring,
    cron: '30 2 * * *',
    fires: ['2025-03-09T07:00Z', '2025-03-10T06:30Z'],
  },
  {
    ...newYorkSpring,
    cron: '30 1 * * *',
    fires: ['2025-03-09T06:30Z', '2025-03-10T05:30Z'],
  },
  {
    ...newYorkAutumn,
    cron: '30 1 * * *',
    fires: ['2025-11-02T05:30Z', '2025-11-03T06:30Z'],
  },
  {
    ...newYorkAutumn,
    cron: '30 2 * * *',
    fires: ['2025-11-02T07:30Z', '2025-11-03T07:30Z'],
  },
  {
    ...newYorkAutumn,
    cron: '0 * * * *',
    from: '2025-11-02T04:30Z',
    to: '2025-11-02T07:30Z',
    fires: ['2025-11-02T05:00Z', '2025-11-02T06:00Z', '2025-11-02T07:00Z'],
  },
  {
    ...lordHoweSpring,
    cron: '15 2 * * *',
    fires: ['2025-10-04T15:30Z', '2025-10-05T15:15Z'],
  },
  {
    ...lordHoweSpring,
    cron: '*/20 * * * *',
    from: '2025-10-04T15:15Z',
    to: '2025-10-04T16:00Z',
    fires: ['2025-10-04T15:40Z', '2025-10-04T16:00Z'],
  },
  {
    ...lordHoweAutumn,
    cron: '45 1 * * *',
    fires: ['2025-04-05T14:45Z', '2025-04-06T15:15Z'],
  },
  {
    ...lordHoweAutumn,
    cron: '*/15 * * * *',
    from: '2025-04-05T14:20Z',
    to: '2025-04-05T15:30Z',
    fires: [
      '2025-04-05T14:30Z',
      '2025-04-05T14:45Z',
      '2025-04-05T15:00Z',
      '2025-04-05T15:15Z',
      '2025-04-05T15:30Z',
    ],
  },
  {
    ...kathmandu,
    cron: '30 2 * * *',
    from: '2025-03-29T12:00Z',
    to: '2025-03-31T12:00Z',
    fires: ['2025-03-29T20:45Z', '2025-03-30T20:45Z'],
  },
  {
    ...kathmandu,
    cron: '0 * * * *',
    from: '2025-10-26T00:00Z',
    to: '2025-10-26T02:30Z',
    fires: ['2025-10-26T00:15Z', '2025-10-26T01:15Z', '2025-10-26T02:15Z'],
  },
]
