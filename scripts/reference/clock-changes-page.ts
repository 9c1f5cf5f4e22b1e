import { CLOCK_CHANGES } from '../../test/schedules/clock-changes.ts'
import type { ClockChange } from '../../test/schedules/clock-changes.ts'

const HEAD = `# Clock changes

What schedules do where clocks change, as the tests have it (\`test/schedules/clock-changes.ts\`): every fire between two instants, in
local time with its distance from UTC. The rules are on the page about
[schedules and time zones](../guide/schedules-and-time-zones.md#when-clocks-change).
`

/** The vectors of the tests, for readers. */
export function clockChangesPage(): string {
  const groups = new Map<string, ClockChange[]>()
  for (const each of CLOCK_CHANGES) {
    const title = `${each.zone}: ${each.change}`
    groups.set(title, [...(groups.get(title) ?? []), each])
  }
  const sections = [...groups].map(([title, changes]) => section(title, changes))
  return `${HEAD}${sections.join('')}`
}

function section(title: string, changes: readonly ClockChange[]): string {
  const rows = changes.map(({ cron, from, to, zone, fires }) => {
    const local = fires.map((at) => localText(at, zone)).join('<br>')
    return `| \`${cron}\` | ${localText(from, zone)} | ${localText(to, zone)} | ${local} |`
  })
  return `\n## ${title}\n\n| cron | after | until | fires |\n|---|---|---|---|\n${rows.join('\n')}\n`
}

function localText(at: string, zone: string): string {
  const parts = new Intl.DateTimeFormat('sv-SE', {
    timeZone: zone,
    dateStyle: 'short',
    timeStyle: 'short',
  })
  const offset = new Intl.DateTimeFormat('en-US', { timeZone: zone, timeZoneName: 'longOffset' })
  const [, ahead = ''] = /GMT(.*)$/.exec(offset.format(new Date(at))) ?? []
  return `${parts.format(new Date(at))} ${ahead}`
}
