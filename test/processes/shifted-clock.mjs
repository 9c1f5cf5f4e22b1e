// Loaded before a program: this process believes that the wall clock says something else, by
// SHIFT_MS milliseconds, or by what its parent told it last. Monotonic time is as it was, as on a host whose
// clock was set wrong.
let shift = Number(process.env.SHIFT_MS)
const { now } = Date

process.on('message', (message) => {
  shift = message?.shiftMs ?? shift
})

globalThis.Date = class extends Date {
  constructor(...values) {
    if (values.length === 0) super(now() + shift)
    else super(...values)
  }

  static now() {
    return now() + shift
  }
}
