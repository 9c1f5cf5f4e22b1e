import type { Json } from '../../index.ts'

/** Reads a document of somebody else's: what is not where it was expected is undefined. */
export function textAt(json: Json, ...path: readonly string[]): string | undefined {
  const found = jsonAt(json, path)
  return typeof found === 'string' ? found : undefined
}

export function numberAt(json: Json, ...path: readonly string[]): number | undefined {
  const found = jsonAt(json, path)
  return typeof found === 'number' ? found : undefined
}

/** The length of the list there; 0 when there is none. */
export function lengthAt(json: Json, ...path: readonly string[]): number {
  const found = jsonAt(json, path)
  return Array.isArray(found) ? found.length : 0
}

export function jsonAt(json: Json, path: readonly string[]): Json {
  let found = json
  for (const name of path) {
    if (!isObject(found)) return undefined
    found = found[name]
  }
  return found
}

function isObject(json: Json): json is { readonly [key: string]: Json } {
  return typeof json === 'object' && json !== null && !Array.isArray(json)
}
