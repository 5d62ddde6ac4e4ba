// Text for people: in one line, or in lines of words.

export const oneLine = (text: string): string => text.replace(/\s+/g, ' ').trim()

/** Words in lines of at most this many characters; a word that is longer has a line of its own. */
export function wrapWords(text: string, room: number): readonly string[] {
  const lines: string[] = ['']
  for (const word of oneLine(text).split(' ')) {
    const current = lines.at(-1)!
    if (current !== '' && current.length + 1 + word.length > room) lines.push(word)
    else lines[lines.length - 1] = current === '' ? word : `${current} ${word}`
  }
  return lines
}
