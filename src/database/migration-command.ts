import type { Namespace } from './namespace.ts'

/** The command line for this namespace: `npx millrace migrate up --schema app`, ready to paste. */
export function migrationCommand(namespace: Namespace, words: string): string {
  const flags = [
    namespace.schema === 'millrace' ? '' : ` ${flag('--schema', namespace.schema)}`,
    namespace.prefix === '' ? '' : ` ${flag('--prefix', namespace.prefix)}`,
  ]
  return `npx millrace migrate ${words}${flags.join('')}`
}

/** The command that installs the release that wrote a row of the history. */
export function installCommand(release: string | null): string {
  return `npm install millrace@${release ?? 'latest'}`
}

/** An option with its value; one that begins with a dash would be taken for another option. */
export function flag(name: string, value: string): string {
  return `${name}${value.startsWith('-') ? '=' : ' '}${shellWord(value)}`
}

// One word for a POSIX shell, whatever it holds.
function shellWord(text: string): string {
  return /^[\w./:@-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`
}
