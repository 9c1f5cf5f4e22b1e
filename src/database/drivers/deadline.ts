/**
 * Settles as `work` does; when that takes longer than `ms`, rejects with what `late` answers.
 *
 * On the machine's timers, not on `Clock`: what is limited here is a socket, and a test that moves
 * its clock by an hour must not cut connections.
 */
export async function within<T>(ms: number, work: Promise<T>, late: () => Error): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const deadline = new Promise<never>((_resolve, reject) => {
    if (ms <= LONGEST_TIMER) timer = setTimeout(() => reject(late()), ms)
  })
  try {
    return await Promise.race([work, deadline])
  } finally {
    clearTimeout(timer)
  }
}

// setTimeout fires at once for longer waits than this; they are waits for ever here.
const LONGEST_TIMER = 2 ** 31 - 1
