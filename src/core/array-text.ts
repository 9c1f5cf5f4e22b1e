/** Texts as an array literal for `text[]`. Text that the database cannot hold matches nothing there. */
export function arrayText(texts: readonly string[]): string {
  const quoted = texts.map((text) => `"${text.replaceAll(/["\\]/g, String.raw`\$&`)}"`)
  return `{${quoted.filter((text) => !text.includes('\u0000')).join(',')}}`
}
