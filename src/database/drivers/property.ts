/**
 * A property of something that is not ours and whose shape we only guess: a pool's options, a
 * library's client. Answers undefined for what is no object.
 */
export function property(holder: unknown, name: string): unknown {
  return isHolder(holder) ? Reflect.get(holder, name) : undefined
}

/** The property if it is a text with something in it. */
export function textProperty(holder: unknown, name: string): string | undefined {
  const value = property(holder, name)
  return typeof value === 'string' && value !== '' ? value : undefined
}

export function hasMethod(holder: unknown, name: string): boolean {
  return typeof property(holder, name) === 'function'
}

/** Calls the method if there is one. */
export function callMethod(holder: unknown, name: string, ...values: readonly unknown[]): unknown {
  const method = property(holder, name)
  return typeof method === 'function' ? Reflect.apply(method, holder, values) : undefined
}

function isHolder(value: unknown): value is object {
  return (typeof value === 'object' && value !== null) || typeof value === 'function'
}
