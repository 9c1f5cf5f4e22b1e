import type { Namespace } from './namespace.ts'

/** The command line for this namespace: `npx millrace migrate up --schema app`, ready to paste. */
export function migrationCommand(namespace: Namespace, words: string): string {
  const flags = [
    namespace.schema === 'millrace' ? '' : ` --schema ${shellWord(namespace.schema)}`,
    namespace.prefix === '' ? '' : ` --prefix ${shellWord(namespace.prefix)}`,
  ]
  return `npx millrace migrate ${words}${flags.join('')}`
}

/** The command that installs the release that wrote a row of the history. */
export function installCommand(release: string | null): string {
  return `npm install millrace@${release ?? 'latest'}`
}

/** One word for a POSIX shell, whatever it holds. */
export function shellWord(text: string): string {
  return /^[\w./:@-]+$/.test(text) && !text.startsWith('-') ? text : `'${text.replaceAll("'", "'\\''")}'`
}
