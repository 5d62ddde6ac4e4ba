// How to reach one API server: its address, whom to trust, who we are. Made by kubeconfig.ts, used by transport.ts.

/** The credentials of a request. Secrets: never logged, never part of a message. */
export interface Identity {
  readonly token?: string
  /** PEM. */
  readonly certificate?: string
  readonly key?: string
  readonly headers?: Readonly<Record<string, string | readonly string[]>>
}

export interface Credentials {
  /** The identity to use now; re-read, refreshed or taken from a cache. */
  current(): Promise<Identity>
  /** The server refused this identity. True when `current` gives another one now. */
  renew(refused: Identity): Promise<boolean>
}

export interface ServerAccess {
  /** `https://host:port` and perhaps a path in front of the API. */
  readonly server: string
  /** PEM. Absent: the certificate authorities of the system. */
  readonly ca?: string
  /** Name to expect in the server's certificate, when it is not the host of `server`. */
  readonly serverName?: string
  readonly insecure?: boolean
  /** Namespace of the context; `default` when it has none. */
  readonly namespace: string
  readonly credentials: Credentials
  /** Where all this was read, for hints: `kubeconfig ~/.kube/config, context demo`. */
  readonly origin: string
}

export function isSameIdentity(a: Identity, b: Identity): boolean {
  return a.token === b.token && a.certificate === b.certificate && a.key === b.key
}

export function fixedCredentials(identity: Identity): Credentials {
  return { current: async () => identity, renew: async () => false }
}
