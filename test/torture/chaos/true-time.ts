/**
 * The machine's wall time in milliseconds, whatever the process believes: facts of all processes
 * stand on one clock, also of those whose own is set wrong on purpose.
 */
export function trueNow(): number {
  return OFFSET + performance.now()
}

// Not `performance.timeOrigin`: a process that has to wait for a processor between two readings when it
// starts has one that is wrong by as long. Of many pairs the one that was read the fastest is right.
const OFFSET = offsetOf(50)

function offsetOf(tries: number): number {
  let best = { took: Number.POSITIVE_INFINITY, offset: 0 }
  for (let count = 0; count < tries; count += 1) {
    const before = performance.now()
    const wall = Date.now() - Number(process.env['SHIFT_MS'] ?? 0)
    const after = performance.now()
    const took = after - before
    if (took < best.took) best = { took, offset: wall - (before + after) / 2 }
  }
  return best.offset
}
