// Finds the line of a field in a parsed YAML document by its path.
import type { LineCounter, Node, Pair } from 'yaml'
import { loadYaml } from '../schema/lazy.ts'

export function lineOfNode(node: Node | null | undefined, lines: LineCounter): number {
  return lines.linePos(node?.range?.[0] ?? 0).line
}

/** Line of the field at this path, or of the closest one above it that is there. */
export function lineOfPath(root: Node, path: string, lines: LineCounter): number {
  let [node, rest, line]: [Node | undefined, string, number] = [root, path, lineOfNode(root, lines)]
  while (node && rest !== '') {
    const next = stepInto(node, rest)
    if (!next) break
    line = lines.linePos(next.start).line
    ;[node, rest] = [next.value, next.rest]
  }
  return line
}

interface Child {
  readonly value: Node | undefined
  readonly start: number
}

/** Follows one step of the path; a map key may hold dots, so the longest key that fits is the one meant. */
function stepInto(node: Node, path: string): (Child & { readonly rest: string }) | undefined {
  const index = /^\[(\d+)\]/.exec(path)
  if (index && loadYaml().isSeq(node)) {
    const child = childOf(node, Number(index[1]))
    return child && { ...child, rest: path.slice(index[0].length).replace(/^\./, '') }
  }
  const candidates = keysOf(node).flatMap((key) => {
    for (const shape of [`[${key}]`, key]) {
      const after = path.slice(shape.length)
      if (path.startsWith(shape) && (after === '' || /^[.[]/.test(after)))
        return [{ key, rest: after.replace(/^\./, '') }]
    }
    return []
  })
  const longest = candidates.sort((a, b) => b.key.length - a.key.length)[0]
  const child = longest && childOf(node, longest.key)
  return child && { ...child, rest: longest.rest }
}

function keysOf(node: Node): string[] {
  return loadYaml().isMap(node) ? node.items.map((pair) => keyText(pair)) : []
}

function keyText(pair: Pair): string {
  return loadYaml().isScalar(pair.key) ? String(pair.key.value) : String(pair.key)
}

export function childOf(node: Node | undefined, key: string | number): Child | undefined {
  const { isMap, isNode, isSeq } = loadYaml()
  if (typeof key === 'number') {
    const item = isSeq(node) ? node.items[key] : undefined
    return isNode(item) ? { value: item, start: item.range?.[0] ?? 0 } : undefined
  }
  const pair = isMap(node) ? node.items.find((one) => keyText(one) === key) : undefined
  if (!pair || !isNode(pair.key)) return undefined
  return { value: isNode(pair.value) ? pair.value : undefined, start: pair.key.range?.[0] ?? 0 }
}
