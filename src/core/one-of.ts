/**
 * Exactly one of the variants: the keys of the others are forbidden, not merely ignored.
 *
 * @example
 * type When = OneOf<{ delay?: Duration } | { at?: Date }> // { delay, at } does not compile
 */
export type OneOf<
  Variants,
  All extends PropertyKey = Variants extends unknown ? keyof Variants : never,
> = Variants extends unknown
  ? Variants & { [Other in Exclude<All, keyof Variants>]?: undefined }
  : never
