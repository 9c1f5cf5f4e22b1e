import { InvalidOptionError } from '../errors.ts'

/** The `merge` of a kind: a word, or a function whose answer is checked each time. */
export type MergeRule = MergeWord | ((existing: unknown, incoming: unknown) => unknown)

export type MergeWord = 'keep' | 'replace' | 'independent'

/** What was decided: a word, or the input and carry that the job goes on with. */
export type Decision = MergeWord | { readonly input: unknown; readonly carry: unknown }

const WORDS: ReadonlySet<unknown> = new Set(['keep', 'replace', 'independent'])

/** Checks the `merge` option of a kind. Default `replace`. */
export function readMerge(value: unknown): MergeRule {
  if (value === undefined) return 'replace'
  if (isWord(value) || isFunction(value)) return value
  throw new InvalidOptionError(
    'merge',
    value,
    "give 'keep', 'replace', 'independent' or a function of both asks",
  )
}

/**
 * Checks what a merge function answered. It must answer at once: the jobs it was shown may have
 * moved on by the time a promise settles.
 */
export function decisionFrom(answer: unknown, hasCarry: boolean): Decision {
  if (isWord(answer)) return answer
  // Refused below; what it throws later must not end the process as nobody's rejection.
  if (answer instanceof Promise) answer.catch(() => undefined)
  if (isObject(answer) && 'input' in answer && !('then' in answer)) {
    const carry = 'carry' in answer ? answer.carry : undefined
    // A carry that the kind does not have would be dropped in silence.
    if (hasCarry ? 'carry' in answer : carry === undefined) return { input: answer.input, carry }
  }
  const shape = hasCarry ? '{ input, carry }' : '{ input }'
  throw new InvalidOptionError(
    'merge',
    answer,
    `a merge function answers 'keep', 'replace', 'independent' or ${shape}, and no promise`,
  )
}

function isWord(value: unknown): value is MergeWord {
  return WORDS.has(value)
}

function isFunction(value: unknown): value is (existing: unknown, incoming: unknown) => unknown {
  return typeof value === 'function'
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null
}
