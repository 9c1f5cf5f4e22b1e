import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

setFlagsFromString('--expose-gc')
const collect: unknown = runInNewContext('gc')

/** Bytes of the heap that are still reachable. Collects garbage, which takes some 50 ms. */
export function liveHeap(): number {
  if (typeof collect === 'function') collect()
  return process.memoryUsage().heapUsed
}
