import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { referenceFolder, referencePages } from './reference/pages.ts'

mkdirSync(referenceFolder, { recursive: true })
for (const [name, text] of await referencePages()) {
  writeFileSync(join(referenceFolder, name), text)
  process.stdout.write(`docs/reference/${name}\n`)
}
