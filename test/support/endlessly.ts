/** Does `work` again and again, until it is told to stop; what it throws, `stop` throws. */
export function endlessly(work: () => Promise<unknown>): { stop(): Promise<void> } {
  let goesOn = true
  async function run(): Promise<void> {
    while (goesOn) await work()
  }
  const end = run()
  // Nobody awaits it until the stop; a failure before that is not unhandled.
  end.catch(() => {})
  return {
    stop() {
      goesOn = false
      return end
    },
  }
}
