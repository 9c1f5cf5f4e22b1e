// Crockford's alphabet: no I, L, O, U.
const ALPHABET = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'

/** The 128 bits of an id as two big-endian halves, from which jitter is derived. */
export function halvesOf(id: string): { readonly hi: bigint; readonly lo: bigint } {
  let bits = 0n
  for (const digit of id) bits = (bits << 5n) | BigInt(ALPHABET.indexOf(digit))
  return { hi: bits >> 64n, lo: BigInt.asUintN(64, bits) }
}
