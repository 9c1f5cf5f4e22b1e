// Loaded before a program: this process believes that the wall clock says something else, by
// SHIFT_MS milliseconds. Monotonic time is as it was, as on a host whose clock was set wrong.
const shift = Number(process.env.SHIFT_MS)
const { now } = Date

globalThis.Date = class extends Date {
  constructor(...values) {
    if (values.length === 0) super(now() + shift)
    else super(...values)
  }

  static now() {
    return now() + shift
  }
}
