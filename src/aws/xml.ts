// The XML that the query APIs of AWS answer with, as a tree: elements and text, nothing else is ever in it.
// An answer that is cut off or of another form is refused as a whole, never read half.

export interface XmlNode {
  readonly name: string
  readonly text: string
  readonly children: readonly XmlNode[]
}

interface Open {
  readonly name: string
  text: string
  readonly children: XmlNode[]
}

const TAG = /<(\/?)([A-Za-z_][\w.:-]*)([^<>]*?)(\/?)>/y

export function parseXml(source: string): XmlNode {
  const root: Open = { name: '', text: '', children: [] }
  const open: Open[] = [root]
  let at = 0
  while (at < source.length) {
    const next = source.indexOf('<', at)
    open.at(-1)!.text += unescapeXml(source.slice(at, next < 0 ? source.length : next))
    if (next < 0) break
    at = next
    if (source.startsWith('<?', at)) {
      at = endOf(source, '?>', at)
      continue
    }
    TAG.lastIndex = at
    const match = TAG.exec(source)
    if (!match) throw new SyntaxError('the answer is not the XML that AWS writes')
    at = TAG.lastIndex
    const [, closes, name, , isEmpty] = match
    if (closes) {
      const done = open.pop()!
      if (done.name !== name || open.length === 0) throw new SyntaxError(`the element ${name} was never opened`)
      open.at(-1)!.children.push(done)
    } else if (isEmpty) open.at(-1)!.children.push({ name: name!, text: '', children: [] })
    else open.push({ name: name!, text: '', children: [] })
  }
  if (open.length !== 1 || root.children.length !== 1) throw new SyntaxError('the answer was cut off')
  return root.children[0]!
}

/** The elements that a path of names leads to; each name may stand for several. */
export function nodesAt(node: XmlNode, ...path: readonly string[]): readonly XmlNode[] {
  return path.reduce<readonly XmlNode[]>(
    (found, name) => found.flatMap(({ children }) => children.filter((child) => child.name === name)),
    [node],
  )
}

export function textAt(node: XmlNode, ...path: readonly string[]): string | undefined {
  return nodesAt(node, ...path)[0]?.text.trim()
}

export function unescapeXml(text: string): string {
  return text
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&quot;', '"')
    .replaceAll('&apos;', "'")
    .replaceAll('&#xD;', '')
    .replaceAll('&amp;', '&')
}

function endOf(source: string, mark: string, from: number): number {
  const end = source.indexOf(mark, from)
  if (end < 0) throw new SyntaxError('the answer was cut off')
  return end + mark.length
}
