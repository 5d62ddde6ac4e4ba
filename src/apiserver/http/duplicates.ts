// Finds fields that stand twice in the same JSON object; JSON.parse keeps the last and says nothing.

/** Paths such as `spec.replicas`. The text must be valid JSON. */
export function duplicateFields(text: string): readonly string[] {
  const found: string[] = []
  const stack: { keys: Set<string> | undefined; path: string; index: number; key: string }[] = []
  const pathOf = () => {
    const top = stack.at(-1)
    if (!top) return ''
    if (top.keys === undefined) return `${top.path}[${top.index}]`
    return top.path === '' ? top.key : `${top.path}.${top.key}`
  }
  let expectsKey = false
  for (let i = 0; i < text.length; i++) {
    const letter = text[i]
    if (letter === '{' || letter === '[') {
      stack.push({ keys: letter === '{' ? new Set() : undefined, path: pathOf(), index: 0, key: '' })
      expectsKey = letter === '{'
    } else if (letter === '}' || letter === ']') stack.pop()
    else if (letter === ',') {
      const top = stack.at(-1)!
      if (top.keys === undefined) top.index += 1
      expectsKey = top.keys !== undefined
    } else if (letter === '"') {
      const end = endOfString(text, i)
      if (expectsKey) {
        const top = stack.at(-1)!
        top.key = JSON.parse(text.slice(i, end + 1)) as string
        if (top.keys!.has(top.key)) found.push(pathOf())
        top.keys!.add(top.key)
        expectsKey = false
      }
      i = end
    }
  }
  return found
}

function endOfString(text: string, start: number): number {
  let end = text.indexOf('"', start + 1)
  while (isEscaped(text, end)) end = text.indexOf('"', end + 1)
  return end
}

/** A quote is part of the text when an odd number of backslashes stands before it. */
function isEscaped(text: string, at: number): boolean {
  let before = at
  while (text[before - 1] === '\\') before -= 1
  return (at - before) % 2 === 1
}
