// What the simulation asks of the embedded API: workload clusters as realms of it.
import type { WorkloadConnection } from './actors.ts'

export interface RealmAccess {
  readonly server: string
  readonly caPem: string
  readonly token: string
  /** When the token will be another one. */
  readonly tokenReplacedAt: number
}

export interface Realms {
  /** Opens the realm, making it first if need be. It is there again after a restart. */
  ensure(path: string): Promise<RealmAccess>
  remove(path: string): Promise<void>
}

export interface RealmConnection extends WorkloadConnection {
  close(): Promise<void>
}

/** Connects to the realm of that path; the connection follows its token. */
export type ConnectRealm = (path: string) => Promise<RealmConnection>
