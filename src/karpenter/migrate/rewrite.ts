// Rewrites the configuration: each block that leaves it becomes a `removed` block at the same place, and every other
// byte stays. In a manifest the lines of the literal block change, and nothing else of the file. Pure.
import { type Document, isScalar, parseAllDocuments, type Scalar } from 'yaml'
import { CaptError, isPlainObject, jsonEqual } from '#lib'
import type { FoundBlock, ModuleFiles } from './find-release.ts'

/** Terraform forgets the resource without destroying it; without such a block it would uninstall the release. */
function renderRemoved(address: string): string {
  return `removed {\n  from = ${address}\n\n  lifecycle {\n    destroy = false\n  }\n}`
}

/** Files that change, with their new text. */
export function rewriteModule(files: ModuleFiles, leaving: readonly FoundBlock[]): ModuleFiles {
  const changed = Object.entries(files).flatMap(([file, text]) => {
    const here = leaving.filter((found) => found.file === file).sort((a, b) => b.block.start - a.block.start)
    const rewritten = here.reduce(
      (rest, { block, address }) => rest.slice(0, block.start) + renderRemoved(address) + rest.slice(block.end),
      text,
    )
    return rewritten === text ? [] : [[file, rewritten] as const]
  })
  return Object.fromEntries(changed)
}

export interface InlineTemplate {
  readonly name: string
  readonly namespace: string | undefined
  readonly module: string
  /** Which document of the file it is. */
  readonly index: number
}

const MODULE_PATH = ['spec', 'template', 'spec', 'forProvider', 'module'] as const

/** WorkspaceTemplates of a file whose module is HCL in the manifest itself. */
export function inlineTemplates(text: string): readonly InlineTemplate[] {
  return parseAllDocuments(text).flatMap((document, index) => {
    const object: unknown = document.toJS()
    if (!isPlainObject(object) || object['kind'] !== 'WorkspaceTemplate') return []
    const module = document.getIn(MODULE_PATH)
    const { name, namespace } = (object['metadata'] ?? {}) as { name?: string; namespace?: string }
    const settings = document.getIn(MODULE_PATH.slice(0, -1))
    const { source, inlineFormat } = (toPlain(settings) ?? {}) as { source?: string; inlineFormat?: string }
    if (source !== 'Inline' || inlineFormat === 'JSON' || typeof module !== 'string') return []
    return [{ name: String(name), namespace, module, index }]
  })
}

const toPlain = (node: unknown): unknown => (node as { toJSON?: () => unknown } | undefined)?.toJSON?.()

/** The file with another module in one of its documents. */
export function rewriteManifest(text: string, { index }: InlineTemplate, module: string): string {
  const documents = parseAllDocuments(text) as Document.Parsed[]
  const node = documents[index]!.getIn(MODULE_PATH, true)
  if (!isScalar(node)) throw new CaptError('CAPT_INVALID', 'the module of the template is not text')
  const scalar = node as Scalar<string>
  const expected = documents.map((document) => document.toJS() as unknown)
  const spliced = spliceLines(text, scalar, module)
  scalar.value = module
  expected[index] = documents[index]!.toJS()
  if (spliced !== undefined && jsonEqual(valuesOf(spliced), expected as never)) return spliced
  // A quoted or folded module has no lines of its own: the document is written again.
  scalar.type = 'BLOCK_LITERAL'
  return documents.map((document) => document.toString({ lineWidth: 0 })).join('')
}

const valuesOf = (text: string) => parseAllDocuments(text).map((document) => document.toJS() as unknown) as never

function spliceLines(text: string, { type, range, value }: Scalar<string>, module: string): string | undefined {
  if (type !== 'BLOCK_LITERAL' || !range) return undefined
  const bodyAt = text.indexOf('\n', range[0]) + 1
  const lines = text.slice(bodyAt).split('\n')
  const before = linesOf(value)
  const indent = /^ */.exec(lines.find((line) => line.trim() !== '') ?? '')![0]
  const after = linesOf(module).map((line) => (line === '' ? '' : indent + line))
  return text.slice(0, bodyAt) + [...after, ...lines.slice(before.length)].join('\n')
}

/** Without the line breaks at the end: how many of them there are is up to the header of the block. */
const linesOf = (text: string): readonly string[] => text.replace(/\n+$/, '').split('\n')
