import { Visitor, type ESTree } from 'vite'
import { parseSource, type Parsed } from './comments.ts'

/** `docs/reference/errors.md`: each error class with its code, its comment and its fields. */
export function errorsPage(errors: string, wordsToThrow: string): string {
  const sections = [errors, wordsToThrow].map((source) =>
    classesOf(parseSource('errors.ts', source)).map(section).join('\n'),
  )
  return `${HEAD}\n${sections.join(`\n${TO_THROW}\n`)}`
}

const HEAD = `# Errors

Every error is a class with a stable \`code\`, its facts as fields, and a message that quotes what was received and ends with
what to do. \`instanceof MillraceError\` holds for all that have a code; \`switch (error.code)\` narrows to the class.

This page is made from \`src/errors.ts\` by \`npm run reference\`.
`

const TO_THROW = `# Words to throw in a handler

These are no errors of Millrace: a handler throws them to say what becomes of the job.
`

interface ErrorClass {
  readonly name: string
  readonly comment: string
  readonly code: string | undefined
  readonly fields: readonly Field[]
}

interface Field {
  readonly name: string
  readonly type: string
  readonly comment: string
}

function section(error: ErrorClass): string {
  const title = error.code === undefined ? `## ${error.name}` : `## ${error.name} \`${error.code}\``
  const fields = error.fields.map(
    (field) =>
      `- \`${field.name}: ${field.type}\`${field.comment === '' ? '' : ` ${oneLine(field.comment)}`}`,
  )
  return [title, '', error.comment, ...(fields.length === 0 ? [] : ['', ...fields]), ''].join('\n')
}

function classesOf(parsed: Parsed): readonly ErrorClass[] {
  const found: ErrorClass[] = []
  new Visitor({
    ExportNamedDeclaration(node) {
      const { declaration } = node
      if (declaration?.type !== 'ClassDeclaration' || declaration.abstract === true) return
      const fields = declaration.body.body.flatMap((member) => fieldOf(parsed, member))
      found.push({
        name: declaration.id?.name ?? '',
        comment: parsed.commentAbove(node.start),
        code: fields.find((field) => field.name === 'code')?.type.replaceAll("'", ''),
        fields: fields.filter((field) => field.name !== 'code'),
      })
    },
  }).visit(parsed.program)
  return found
}

function fieldOf(parsed: Parsed, member: ESTree.ClassElement): readonly Field[] {
  if (member.type !== 'PropertyDefinition' || member.key.type !== 'Identifier') return []
  const typed = member.typeAnnotation?.typeAnnotation ?? member.value
  if (typed === null || typed === undefined) return []
  return [
    {
      name: member.key.name,
      type: oneLine(parsed.text.slice(typed.start, typed.end)),
      comment: parsed.commentAbove(member.start),
    },
  ]
}

function oneLine(text: string): string {
  return text.replaceAll(/\s+/g, ' ')
}
