// Who a process is, and whether it is still there. A pid alone proves nothing: it is reused, and it means something else
// on another machine or in another container. Dead means proven dead; what cannot be proven is `unknown`.
import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { hostname } from 'node:os'

export interface ProcessIdentity {
  readonly pid: number
  /** Start time in the system's own units: the same pid with another start time is another process. */
  readonly start: string
  readonly host: string
  /** Distinguishes machines of the same name. */
  readonly machine: string
  /** Changes with every boot: a process of an earlier boot is gone. */
  readonly boot: string
  /** Pid namespace: pids of another container cannot be looked up. */
  readonly space: string
  /** The pod that it runs in, when that pod belongs to the cluster whose API has the records. */
  readonly pod?: PodIdentity
}

export interface PodIdentity {
  readonly namespace: string
  readonly name: string
  /** A pod with the same name and another UID is another pod. */
  readonly uid: string
}

/** Environment variable that names the pod of a process. */
export const POD_VARIABLE = `CAPT_POD`

/** Names the pod for this process and the runners that it starts; before any of them reads its own identity. */
export function announcePod(pod: PodIdentity): void {
  process.env[POD_VARIABLE] ??= JSON.stringify(pod)
}

export type Liveness = 'alive' | 'dead' | 'unknown'

export function identityOf(pid: number): ProcessIdentity | undefined {
  const start = startOf(pid)
  return start === undefined ? undefined : { pid, start, ...place() }
}

let own: ProcessIdentity | undefined
export function ownIdentity(): ProcessIdentity {
  own ??= { pid: process.pid, start: startOf(process.pid) ?? '', ...place() }
  return own
}

export function livenessOf(who: ProcessIdentity): Liveness {
  const here = place()
  if (who.host !== here.host || who.machine !== here.machine) return 'unknown'
  // The processes of another pod cannot be looked up, whatever its host is called.
  if (who.pod?.uid !== here.pod?.uid) return 'unknown'
  // The name of a pod says nothing about its machine: a pod of the same name may run on another node.
  if (who.boot !== here.boot) return who.pod || here.pod ? 'unknown' : 'dead'
  if (who.space !== here.space) return 'unknown'
  return startOf(who.pid) === who.start ? 'alive' : 'dead'
}

/** Processes of a group that are still there, the leader included. A group whose leader's pid was reused counts as empty. */
export function isGroupAlive(leader: ProcessIdentity): boolean {
  if (livenessOf(leader) === 'alive') return true
  const now = startOf(leader.pid)
  if (now !== undefined && now !== leader.start) return false
  try {
    process.kill(-leader.pid, 0)
    return hasLivingMember(leader.pid)
  } catch {
    return false
  }
}

/** Sends a signal; false when nobody is there to receive it. */
export function signal(pid: number, name: NodeJS.Signals): boolean {
  try {
    process.kill(pid, name)
    return true
  } catch {
    return false
  }
}

/** Zombies answer signals but do nothing any more. */
function hasLivingMember(group: number): boolean {
  if (process.platform !== 'linux') return true
  return readdirSync('/proc').some((name) => {
    if (!/^\d+$/.test(name)) return false
    const fields = statOf(Number(name))
    return fields?.[2] === String(group) && fields[0] !== 'Z'
  })
}

/**
 * Leaders of process groups with this entry in their environment and a name that fits; only on Linux, and only our own
 * user's. The name matters: a daemon that a module starts inherits the environment too.
 */
export function findLeaders(entry: string, called: RegExp): readonly ProcessIdentity[] {
  if (process.platform !== 'linux') return []
  return readdirSync('/proc').flatMap((name) => {
    if (!/^\d+$/.test(name) || statOf(Number(name))?.[2] !== name) return []
    try {
      if (!called.test(readFileSync(`/proc/${name}/comm`, 'latin1'))) return []
      if (!readFileSync(`/proc/${name}/environ`, 'latin1').split('\0').includes(entry)) return []
    } catch {
      return []
    }
    return identityOf(Number(name)) ?? []
  })
}

/** Fields of /proc/<pid>/stat from the third on (state, parent, group, …); the name before them may hold anything. */
function statOf(pid: number): readonly string[] | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'latin1')
    return text.slice(text.lastIndexOf(')') + 2).split(' ')
  } catch {
    return undefined
  }
}

function startOf(pid: number): string | undefined {
  if (process.platform === 'linux') {
    const fields = statOf(pid)
    return fields === undefined || fields[0] === 'Z' ? undefined : fields[19]
  }
  try {
    const text = execFileSync('ps', ['-o', 'lstart=', '-p', String(pid)], { encoding: 'utf8', stdio: 'pipe' }).trim()
    return text === '' ? undefined : text
  } catch {
    return undefined
  }
}

let known: Omit<ProcessIdentity, 'pid' | 'start'> | undefined
function place(): Omit<ProcessIdentity, 'pid' | 'start'> {
  known ??= { host: hostname(), machine: machineId(), boot: bootId(), space: pidSpace(), ...podIdentity() }
  return known
}

function podIdentity(): { readonly pod?: PodIdentity } {
  try {
    return { pod: JSON.parse(process.env[POD_VARIABLE]!) as PodIdentity }
  } catch {
    return {}
  }
}

function bootId(): string {
  try {
    if (process.platform === 'linux') return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()
    return execFileSync('sysctl', ['-n', 'kern.boottime'], { encoding: 'utf8', stdio: 'pipe' }).trim()
  } catch {
    return ''
  }
}

function machineId(): string {
  try {
    return readFileSync('/etc/machine-id', 'utf8').trim()
  } catch {
    return ''
  }
}

function pidSpace(): string {
  try {
    return readlinkSync('/proc/self/ns/pid')
  } catch {
    return ''
  }
}
