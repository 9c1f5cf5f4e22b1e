import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'

// What comes with Millrace is what its lock file names. These hold without a network, on each run.

interface Manifest {
  readonly dependencies: Readonly<Record<string, string>>
  readonly devDependencies: Readonly<Record<string, string>>
  readonly scripts: Readonly<Record<string, string>>
}

interface Locked {
  readonly version?: string
  readonly resolved?: string
  readonly integrity?: string
  readonly dev?: boolean
  readonly devOptional?: boolean
  readonly link?: boolean
  readonly hasInstallScript?: boolean
}

const manifest: Manifest = JSON.parse(read('package.json'))
const lock: { readonly packages: Readonly<Record<string, Locked>> } = JSON.parse(
  read('package-lock.json'),
)
const all = Object.entries(lock.packages).filter(([path]) => path !== '')
const runtime = all.filter(([, { dev, devOptional }]) => dev !== true && devOptional !== true)

test('packages that come with Millrace run nothing when they are installed', () => {
  expect(runtime.length).toBeGreaterThan(Object.keys(manifest.dependencies).length)
  expect(runtime.filter(([, { hasInstallScript }]) => hasInstallScript === true)).toEqual([])
  // The lock file knows of such scripts at all, or the test could not fail.
  expect(all.some(([, { hasInstallScript }]) => hasInstallScript === true)).toBe(true)
})

test('Millrace itself runs nothing when it is installed', () => {
  const atInstall = new Set([
    'preinstall',
    'install',
    'postinstall',
    'prepare',
    'preprepare',
    'postprepare',
  ])
  expect(Object.keys(manifest.scripts).filter((name) => atInstall.has(name))).toEqual([])
})

test('what comes with Millrace is counted: another package is a decision', () => {
  expect(runtime.length).toBeLessThanOrEqual(29)
})

describe('every package is the one that was looked at:', () => {
  test.each(Object.entries({ ...manifest.dependencies, ...manifest.devDependencies }))(
    '%s is named by its exact version',
    (_name, version) => {
      expect(version).toMatch(/^(?:npm:[@\w/.-]+@)?\d+\.\d+\.\d+(?:-[\w.]+)?$/)
    },
  )

  test('each is checked against the hash of the lock file, and none comes from git or a path', () => {
    const odd = all.filter(
      ([, { integrity, resolved, link }]) =>
        link === true ||
        integrity?.startsWith('sha512-') !== true ||
        !(resolved ?? 'https://').startsWith('https://'),
    )
    expect(odd.map(([path]) => path)).toEqual([])
  })
})

function read(name: string): string {
  return readFileSync(new URL(`../../${name}`, import.meta.url), 'utf8')
}
