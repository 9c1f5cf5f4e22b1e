#!/usr/bin/env node
import { runProgram } from './program.ts'

// Whoever reads may stop reading: `millrace jobs list | head` is no failure.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  process.exit(error.code === 'EPIPE' ? 0 : 4)
})

await runProgram(process.argv)
