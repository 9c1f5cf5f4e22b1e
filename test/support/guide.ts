/**
 * The TypeScript of a page of documentation. A page is one program: its `ts` blocks in their order,
 * with what `<!-- assumes … -->` declares, which readers do not see. A block marked `ts run` is a
 * program by itself, and a `text` block right after it is what it prints.
 *
 * Programs keep the lines of the page, all others empty: what the compiler says about line 41 is
 * about line 41 of the page.
 */
export interface Page {
  readonly program: string
  readonly runnable: readonly RunnableBlock[]
}

export interface RunnableBlock {
  /** Of the page, where its code begins. */
  readonly line: number
  readonly program: string
  /** Null when the page does not say. */
  readonly output: string | null
}

export function readPage(markdown: string): Page {
  const blocks = blocksOf(markdown.split('\n'))
  return {
    program: programOf(blocks.filter(({ info }) => info === 'ts' || info === 'assumes')),
    runnable: blocks.flatMap((block, index) => {
      if (block.info !== 'ts run') return []
      const after = blocks[index + 1]
      const isOutput = after?.info === 'text' && after.line === endOf(block) + 3
      const output = isOutput ? `${after.lines.join('\n')}\n` : null
      return [{ line: block.line, program: programOf([block]), output }]
    }),
  }
}

interface Block {
  readonly info: string
  /** Of the first line inside, from 1. */
  readonly line: number
  readonly lines: readonly string[]
}

function blocksOf(lines: readonly string[]): readonly Block[] {
  const blocks: Block[] = []
  let at = 0
  while (at < lines.length) {
    const begin = beginOf(lines[at] ?? '')
    at += 1
    if (begin === undefined) continue
    const end = lines.indexOf(begin.end, at)
    if (end === -1) throw new Error(`the block that begins in line ${at} does not end`)
    blocks.push({ info: begin.info, line: at + 1, lines: lines.slice(at, end) })
    at = end + 1
  }
  return blocks
}

function beginOf(line: string): { readonly info: string; readonly end: string } | undefined {
  if (line === '<!-- assumes') return { info: 'assumes', end: '-->' }
  const fence = /^```(\S.*)$/.exec(line)
  return fence?.[1] === undefined ? undefined : { info: fence[1], end: '```' }
}

function endOf({ line, lines }: Block): number {
  return line + lines.length
}

/** A module even where nothing is imported, so that it may await. */
function programOf(blocks: readonly Block[]): string {
  const program: string[] = []
  for (const { line, lines } of blocks) {
    while (program.length < line - 1) program.push('')
    program.push(...lines)
  }
  return [...program, 'export {}', ''].join('\n')
}
