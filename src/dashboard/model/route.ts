// The views of the page and their addresses. A link to any of them opens that view.

export type Route =
  | { readonly view: 'fleet' }
  | { readonly view: 'cluster'; readonly namespace: string; readonly name: string }
  | { readonly view: 'run'; readonly namespace: string; readonly name: string; readonly run: string }

export function routeOf(path: string): Route {
  const [root, namespace, name, sub, run] = path.split('/').filter(Boolean).map(decodeURIComponent)
  if (root !== 'clusters' || !namespace || !name) return { view: 'fleet' }
  return sub === 'runs' && run ? { view: 'run', namespace, name, run } : { view: 'cluster', namespace, name }
}

export function pathOf(route: Route): string {
  if (route.view === 'fleet') return '/'
  const cluster = `/clusters/${encodeURIComponent(route.namespace)}/${encodeURIComponent(route.name)}`
  return route.view === 'cluster' ? cluster : `${cluster}/runs/${encodeURIComponent(route.run)}`
}

/** What the server streams for a view. */
export function topicOf(route: Route): string {
  if (route.view === 'fleet') return '/api/stream'
  const query = new URLSearchParams({ cluster: `${route.namespace}/${route.name}` })
  if (route.view === 'run') query.set('run', route.run)
  return `/api/stream?${query}`
}
