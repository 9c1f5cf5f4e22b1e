/** See waits.mjs: plain JavaScript, since it runs in a child without a loader. */
export interface Waits {
  add(ms: number, slice: number): void
  at(share: number, slice?: number): number | null
}

export declare function waitsInSlices(slices: number): Waits
