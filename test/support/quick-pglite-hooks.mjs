// Puts the class of quick-pglite-class.mjs in the place of PGlite, for everybody but that file itself.
const wrapper = new URL('quick-pglite-class.mjs', import.meta.url).href

export async function resolve(specifier, context, next) {
  const isAsked = specifier === '@electric-sql/pglite' && context.parentURL !== wrapper
  return isAsked ? { url: wrapper, shortCircuit: true } : next(specifier, context)
}
