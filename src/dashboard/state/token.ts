// The token of this server: from the fragment of the link that opened the page, then from storage that belongs to this
// address alone. It is never in a cookie, which a browser would also send to other ports of the same machine.
const KEY = 'capt-token'

/** Moves a token from the address bar into storage. */
export function readToken(): string {
  const given = /[#&]token=([\w-]+)/.exec(location.hash)?.[1]
  if (given !== undefined) {
    localStorage.setItem(KEY, given)
    history.replaceState(null, '', location.pathname + location.search)
  }
  return localStorage.getItem(KEY) ?? ''
}

export function storeToken(text: string): string {
  const token = /token=([\w-]+)/.exec(text)?.[1] ?? text.trim()
  localStorage.setItem(KEY, token)
  return token
}
