/**
 * A signal that aborts at SIGTERM or SIGINT, the way processes are asked to end: the first one
 * starts an orderly stop; a second one ends the process as it would without us.
 *
 * @example
 * await mill.worker().use(handlers).run({ signal: shutdownSignal() })
 */
export function shutdownSignal(): AbortSignal {
  const controller = new AbortController()
  const stop = (signal: NodeJS.Signals): void => {
    for (const each of SIGNALS) process.off(each, stop)
    controller.abort(signal)
  }
  for (const each of SIGNALS) process.on(each, stop)
  return controller.signal
}

const SIGNALS: readonly NodeJS.Signals[] = ['SIGTERM', 'SIGINT']
