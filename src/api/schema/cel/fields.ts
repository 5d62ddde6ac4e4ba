// Follows the field names of a rule through the schema. The rules themselves run untyped, so this is where a
// misspelt field is found before any object is checked by it.
import type { JsonSchema } from '../build.ts'
import { escapeName, fieldsOf, isResource } from './values.ts'

export interface Node {
  readonly op: string
  readonly args: unknown
}

/** The first field named by `self.a.b` that the schema does not declare. */
export function unknownField(
  ast: Node,
  root: JsonSchema,
  isWholeResource: boolean,
  oldIsOptional: boolean,
): string | undefined {
  let missing: string | undefined
  const visit = (value: unknown): void => {
    if (Array.isArray(value)) for (const item of value) visit(item)
    if (!isNode(value)) return
    schemaOf(value)
    visit(value.args)
  }
  const schemaOf = (node: Node): { schema: JsonSchema; whole: boolean } | undefined => {
    if (node.op === 'id' && (node.args === 'self' || (node.args === 'oldSelf' && !oldIsOptional)))
      return { schema: root, whole: isWholeResource }
    if (!['.', '.?', '[]', '[?]'].includes(node.op)) return undefined
    const [left, right] = node.args as [Node, string | Node]
    const parent = schemaOf(left)
    if (!parent) return undefined
    const { schema, whole } = parent
    if (node.op.startsWith('[')) {
      const child =
        schema.items ?? (typeof schema.additionalProperties === 'object' ? schema.additionalProperties : undefined)
      return child && { schema: child, whole: isResource(child) }
    }
    const fields = fieldsOf(schema, whole)
    if (schema.type !== 'object' || (!fields && schema.additionalProperties !== undefined)) {
      const child = schema.additionalProperties
      return typeof child === 'object' ? { schema: child, whole: isResource(child) } : undefined
    }
    const found = Object.entries(fields ?? {}).find(([name]) => escapeName(name) === right)?.[1]
    if (!found || (found.type === undefined && !found['x-kubernetes-int-or-string'])) missing ??= right as string
    return found && node.op === '.' ? { schema: found, whole: isResource(found) } : undefined
  }
  visit(ast)
  return missing
}

function isNode(value: unknown): value is Node {
  return value !== null && typeof value === 'object' && 'op' in value && 'args' in value
}
