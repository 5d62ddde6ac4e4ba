// Starts the page: chooses the view of the route, and the keys that work everywhere.
import { render } from 'preact'
import { useEffect } from 'preact/hooks'
import { Cluster } from './parts/cluster.tsx'
import { Fleet } from './parts/fleet.tsx'
import { Run } from './parts/run.tsx'
import { applyTheme, Shell, SignIn } from './parts/shell.tsx'
import { connection, go, route, start } from './state/store.ts'

function App() {
  const at = route.value
  const title = at.view === 'fleet' ? 'Clusters' : at.view === 'cluster' ? at.name : at.run
  useEffect(() => {
    document.title = `${title} · capt`
  }, [title])
  if (connection.value.is === 'refused') return <SignIn />
  return (
    <Shell>
      {at.view === 'fleet' && <Fleet />}
      {at.view === 'cluster' && <Cluster namespace={at.namespace} name={at.name} />}
      {at.view === 'run' && <Run namespace={at.namespace} name={at.name} run={at.run} />}
    </Shell>
  )
}

function onKey(event: KeyboardEvent): void {
  const isTyping = event.target instanceof HTMLInputElement
  if (event.key === '/' && !isTyping) {
    event.preventDefault()
    document.getElementById('search')?.focus()
  }
  if (event.key === 'ArrowDown' && isTyping && event.target.id === 'search')
    document.querySelector<HTMLElement>('.scroll [data-index] a')?.focus()
  if (event.key !== 'Escape' || document.querySelector('dialog[open]')) return
  const at = route.value
  if (isTyping) event.target.blur()
  else if (at.view === 'run') go({ view: 'cluster', namespace: at.namespace, name: at.name })
  else if (at.view === 'cluster') go({ view: 'fleet' })
}

applyTheme()
start()
addEventListener('keydown', onKey)
render(<App />, document.getElementById('app')!)
