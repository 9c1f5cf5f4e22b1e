import { parseSync } from 'vite'

/** A source file with its syntax tree and a way to ask for the comment above a declaration. */
export interface Parsed {
  readonly text: string
  readonly program: ReturnType<typeof parseSync>['program']
  /** The words of the comment that ends right above `start`, without its marks; empty without one. */
  commentAbove(start: number): string
}

export function parseSource(path: string, text: string): Parsed {
  const { program, comments } = parseSync(path, text, { lang: 'ts' })
  return {
    text,
    program,
    commentAbove(start) {
      const lines: string[] = []
      let below = start
      for (const comment of comments.toReversed()) {
        if (comment.end > below) continue
        if (!isOnLineAbove(text.slice(comment.end, below))) break
        lines.unshift(comment.value)
        below = comment.start
      }
      return plain(lines.join('\n'))
    },
  }
}

function isOnLineAbove(between: string): boolean {
  return between.trim() === '' && between.split('\n').length === 2
}

/** Without the stars and indents of a doc comment, and without its tags: an example is for the editor. */
function plain(comment: string): string {
  const lines = comment.split('\n').map((line) => line.replace(/^\s*\*?\s?/, '').trimEnd())
  const tag = lines.findIndex((line) => line.startsWith('@'))
  return lines
    .slice(0, tag === -1 ? lines.length : tag)
    .join('\n')
    .trim()
}
