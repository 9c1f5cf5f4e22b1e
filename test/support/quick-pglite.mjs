// `node --import` this, and a PGlite that has nothing yet starts from the snapshot of test/support/pglite.ts
// in place of initdb, which takes seconds. Nothing else is changed: the program stays as it stands.
import { register } from 'node:module'

register(new URL('quick-pglite-hooks.mjs', import.meta.url))
