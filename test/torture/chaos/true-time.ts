/**
 * The machine's wall time in milliseconds, whatever the process believes: facts of all processes
 * stand on one clock, also of those whose own is set wrong on purpose.
 */
export function trueNow(): number {
  return performance.timeOrigin + performance.now()
}
