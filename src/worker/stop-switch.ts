/** Aborts a run's signal; the first reason stays. The signal is made when first asked for: most handlers never look at it. */
export class StopSwitch {
  #controller: AbortController | undefined
  #reason: Error | undefined

  get reason(): Error | undefined {
    return this.#reason
  }

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController()
      if (this.#reason !== undefined) this.#controller.abort(this.#reason)
    }
    return this.#controller.signal
  }

  abort(reason: Error): void {
    this.#reason ??= reason
    this.#controller?.abort(this.#reason)
  }
}
