// Runs a TypeScript program of the repository on any Node: `node scripts/run.mjs bench/main.ts --jobs 1000`.
// The program's own files are compiled in memory by vite; `millrace` is the built package in dist,
// as an application would have it, so that what is measured is what is published.
import { resolve } from 'node:path'
import { runnerImport } from 'vite'

const [, , program, ...values] = process.argv
if (program === undefined) {
  process.stderr.write('usage: node scripts/run.mjs <program.ts> [values]\n')
  process.exit(2)
}
process.argv.splice(1, process.argv.length - 1, resolve(program), ...values)
// Node 20 has no `using`: vite lowers it to what es2022 knows.
await runnerImport(resolve(program), {
  configFile: false,
  logLevel: 'error',
  oxc: { target: 'es2022' },
})
