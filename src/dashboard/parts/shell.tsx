// The frame around every view: where one is, whether the data is live, light or dark, and the way in without a token.
import { useSignal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { connection, hello, now, route, signIn, upstream } from '../state/store.ts'
import { Copy, Link } from './marks.tsx'

const THEMES = ['auto', 'light', 'dark'] as const
type Theme = (typeof THEMES)[number]
const THEME_KEY = 'capt-theme'

export function applyTheme(): Theme {
  const theme = THEMES.find((one) => one === localStorage.getItem(THEME_KEY)) ?? 'auto'
  if (theme === 'auto') delete document.documentElement.dataset['theme']
  else document.documentElement.dataset['theme'] = theme
  return theme
}

function ThemeButton() {
  const theme = useSignal(applyTheme())
  const change = () => {
    localStorage.setItem(THEME_KEY, THEMES[(THEMES.indexOf(theme.value) + 1) % THEMES.length]!)
    theme.value = applyTheme()
  }
  return (
    <button type="button" class="quiet" onClick={change} aria-label={`Colours: ${theme.value}. Change`}>
      {theme.value === 'auto' ? 'Auto' : theme.value === 'dark' ? 'Dark' : 'Light'}
    </button>
  )
}

function Live() {
  const { is } = connection.value
  const word = is === 'live' ? 'Live' : is === 'connecting' ? 'Connecting' : 'Offline'
  return (
    <span class={`live is-${is}`} role="status">
      {word}
    </span>
  )
}

function Banner() {
  const { is, message } = connection.value
  if (is === 'broken')
    return (
      <div class="banner" role="alert">
        {message}. Trying again; what is shown may be out of date.
      </div>
    )
  if (upstream.value !== '')
    return (
      <div class="banner" role="alert">
        {upstream.value}. What is shown may be out of date.
      </div>
    )
  return null
}

export function Shell({ children }: { children: ComponentChildren }) {
  const at = route.value
  const { server, namespace, notices = [], version, allowWrites } = hello.value ?? {}
  return (
    <>
      <a class="skip" href="#main">
        Skip to the content
      </a>
      <header class="top">
        <Link to={{ view: 'fleet' }} class="brand">
          <img src="/icon.svg" width="22" height="22" alt="" />
          <span>capt</span>
        </Link>
        <nav class="crumbs" aria-label="Place">
          {at.view !== 'fleet' && (
            <>
              <Link to={{ view: 'fleet' }}>Clusters</Link>
              <span aria-hidden="true">/</span>
              {at.view === 'run' ? (
                <>
                  <Link to={{ view: 'cluster', namespace: at.namespace, name: at.name }}>{at.name}</Link>
                  <span aria-hidden="true">/</span>
                  <span aria-current="page">{at.run}</span>
                </>
              ) : (
                <span aria-current="page">{at.name}</span>
              )}
            </>
          )}
        </nav>
        <span class="where" title={server}>
          {server?.replace(/^https?:\/\//, '')}
          {namespace ? `, ${namespace} only` : ''}
        </span>
        <Live />
        <ThemeButton />
      </header>
      <Banner />
      {notices.map((notice) => (
        <p class="notice" key={notice}>
          {notice}
        </p>
      ))}
      <main id="main" tabIndex={-1}>
        {children}
      </main>
      <footer class="foot">
        <span>capt {version}</span>
        <span>{allowWrites ? 'Plans can be approved here' : 'Read-only'}</span>
        <span class="keys">
          <kbd>/</kbd> search <kbd>↑</kbd> <kbd>↓</kbd> move <kbd>Enter</kbd> open <kbd>Esc</kbd> back
        </span>
        <time>{new Date(now.value).toLocaleTimeString()}</time>
      </footer>
    </>
  )
}

/** The page was opened without the link that capt printed, or by the link of an earlier start. */
export function SignIn() {
  const text = useSignal('')
  const submit = (event: Event) => {
    event.preventDefault()
    signIn(text.value)
  }
  return (
    <main id="main" class="signin">
      <img src="/icon.svg" width="40" height="40" alt="" />
      <h1>Open the link that capt printed</h1>
      <p>
        The page needs a token, which is part of that link. It changes whenever the server starts. To get a new one:
      </p>
      <p>
        <Copy text="capt dashboard" />
      </p>
      <form onSubmit={submit}>
        <label for="token">Link or token</label>
        <div class="field">
          <input
            id="token"
            type="password"
            autocomplete="off"
            value={text.value}
            onInput={(event) => {
              text.value = event.currentTarget.value
            }}
          />
          <button type="submit" class="primary">
            Open
          </button>
        </div>
        {connection.value.message !== '' && <p role="alert">{connection.value.message}</p>}
      </form>
    </main>
  )
}
