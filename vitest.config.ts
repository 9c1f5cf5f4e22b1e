import { fileURLToPath } from 'node:url'
import { defineConfig, type ViteUserConfig } from 'vitest/config'
import { LongestFirst } from './test/support/longest-first.ts'

const source = (path: string) => fileURLToPath(new URL(`src/${path}`, import.meta.url))

const config: ViteUserConfig = defineConfig({
  resolve: {
    alias: [
      { find: /^millrace$/, replacement: source('index.ts') },
      { find: /^millrace\/define$/, replacement: source('define.ts') },
    ],
  },
  test: {
    include: ['test/**/*.test.ts'],
    globalSetup: ['test/support/global-setup.ts'],
    pool: 'forks',
    maxWorkers: 2,
    sequence: { sequencer: LongestFirst },
    testTimeout: 30_000,
    hookTimeout: 60_000,
    typecheck: { include: ['test/types/**/*.test-d.ts'] },
  },
})

// Vitest asks for a default export.
export default config
