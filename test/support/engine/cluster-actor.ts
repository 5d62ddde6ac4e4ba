// Plays the controller of Jobs and a kubelet over any API server, so that runs in Jobs are real processes: a pod gets the
// volumes, the environment and the grace period of its Job and nothing else, and its status says how its container ended.
// What it does not do: schedule, pull images, or separate processes from this machine.
import { type ChildProcess, spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  type AnyObject,
  type ConfigMap,
  ConfigMapKind,
  CoreEventKind,
  JobKind,
  PodKind,
  type Secret,
  SecretKind,
} from '#api'
import { isKubeError, type Objects } from '#kube'

interface PodSpec {
  readonly terminationGracePeriodSeconds?: number
  readonly containers: readonly {
    readonly command: readonly string[]
    readonly args: readonly string[]
    readonly env: readonly { name: string; value?: string; valueFrom?: { fieldRef: { fieldPath: string } } }[]
    readonly envFrom: readonly { configMapRef?: { name: string }; secretRef?: { name: string } }[]
    readonly volumeMounts: readonly { name: string; mountPath: string }[]
  }[]
  readonly volumes: readonly { name: string; secret?: { secretName: string; optional?: boolean } }[]
}
interface Pod extends AnyObject {
  readonly spec: PodSpec
  readonly status?: { readonly phase?: string; readonly containerStatuses?: readonly unknown[] }
}
interface Job extends AnyObject {
  readonly spec: { readonly template: { readonly metadata: AnyObject['metadata']; readonly spec: PodSpec } }
  readonly status?: { readonly conditions?: readonly { readonly type: string }[] }
}
interface Container {
  readonly pod: Pod
  readonly folder: string
  readonly child: ChildProcess
  /** Where Secrets are mounted, by name. */
  readonly secrets: ReadonlyMap<string, Mount>
  /** Why it is killed, as its status will say. */
  reason?: string
  /** What its pod reports beside that. */
  status?: object
  /** Nobody is left to report its end. */
  isLost?: boolean
  isStopping?: boolean
}

interface Mount {
  /** The folder on this machine. */
  readonly folder: string
  /** The path that the pod gives it, where the container sees the folder itself. */
  readonly path?: string
}

/** One container as its pod describes it. */
export interface ContainerStart {
  readonly command: readonly string[]
  readonly args: readonly string[]
  readonly env: Readonly<Record<string, string>>
  /** Folders of this machine, by where the container sees them. */
  readonly mounts: ReadonlyMap<string, string>
}

interface ActorOptions {
  readonly objects: Objects
  readonly namespace: string
  /** What the image has at /app/dist/program/capt.mjs. */
  readonly program: readonly string[]
  /** Of the image: what a pod has without being given it. */
  readonly path: string
  /** Starts a container in a root of its own, where paths are those of the pod. */
  readonly start?: (container: ContainerStart) => ChildProcess
  /** On a real server its controller of Jobs makes the pods, and a pod that has ended is removed at once like this. */
  readonly removePod?: (name: string) => void
}

export interface ClusterActor {
  readonly containers: ReadonlyMap<string, Container>
  /** Every pod that was ever started, by its Job. */
  readonly started: string[]
  /** Ends containers at once, as a node, the kernel or a person would: all, or those of one Job. `status`: more of the pod's. */
  kill(reason?: string, one?: { readonly job: string; readonly status?: object }): Promise<void>
  /** The node is gone with all containers: nobody reports how they ended, and their pods are removed without a status. */
  loseNode(): Promise<void>
  /** Pods stay pending with this status: all, or those of one Job. */
  hold(status: object | undefined, job?: string): void
  /** The Job gets no pod; its controller says why in an event. Names of Jobs are given by how they begin. */
  refuse(job: string, message: string): void
  stop(): Promise<void>
}

const FINALIZER = 'test.capt.appthrust.com/kubelet'
const POLL_MS = 100
/** A kubelet writes changed Secrets into running pods every minute or so; every tenth of that many seconds here. */
const REFRESH_POLLS = 60

export function startClusterActor(options: ActorOptions): ClusterActor {
  const { objects, namespace, removePod } = options
  const containers = new Map<string, Container>()
  const started: string[] = []
  /** Pods whose container was started, by uid. It is never started again: the pod may have ended since it was listed. */
  const begun = new Set<string>()
  /** By how the names of their Jobs begin. */
  const held = new Map<string, object>()
  const refused = new Map<string, string>()
  const find = <T>(of: ReadonlyMap<string, T>, job = ''): T | undefined =>
    [...of].find(([start]) => job.startsWith(start))?.[1]
  let isOver = false
  const setStatus = async ({ metadata }: AnyObject, status: object) => {
    const key = { namespace, name: metadata.name }
    await objects.patch(PodKind, key, { type: 'merge', body: { status } }, { subresource: 'status' })
  }
  const statusOf = (state: object) => ({
    containerStatuses: [{ name: 'runner', image: 'x', imageID: 'x', ready: false, restartCount: 0, state }],
  })

  async function makePod(job: Job): Promise<void> {
    const { template } = job.spec
    const owner = {
      apiVersion: 'batch/v1',
      kind: 'Job',
      name: job.metadata.name,
      uid: job.metadata.uid ?? '',
      controller: true,
    }
    const metadata = {
      ...template.metadata,
      name: `${job.metadata.name}-${randomUUID().slice(0, 5)}`,
      namespace,
      finalizers: [FINALIZER],
      ownerReferences: [owner],
    }
    await objects.create<Pod>(PodKind, { apiVersion: 'v1', kind: 'Pod', metadata, spec: template.spec } as Pod)
  }

  async function refusePod({ metadata }: Job, message: string): Promise<void> {
    const involvedObject = { apiVersion: 'batch/v1', kind: 'Job', namespace, name: metadata.name, uid: metadata.uid }
    const event = {
      apiVersion: 'v1',
      kind: 'Event',
      metadata: { namespace, name: `${metadata.name}.refused` },
      involvedObject,
      type: 'Warning',
      reason: 'FailedCreate',
      message,
    }
    await objects.create(CoreEventKind, event).catch((error: unknown) => {
      if (!isKubeError(error, 'AlreadyExists')) throw error
    })
  }

  /** Kubelet: mounts, environment, process. */
  async function startContainer(pod: Pod): Promise<void> {
    const [container] = pod.spec.containers
    const uid = pod.metadata.uid ?? ''
    if (!container || begun.has(uid)) return
    if (removePod) await bind(pod)
    const folder = mkdtempSync(join(tmpdir(), 'capt-pod-'))
    const mounts = new Map<string, string>()
    const secrets = new Map<string, Mount>()
    for (const { name, mountPath } of container.volumeMounts) {
      const target = join(folder, name)
      mkdirSync(target)
      mounts.set(mountPath, target)
      const secret = pod.spec.volumes.find((volume) => volume.name === name)?.secret
      const found = secret && (await objects.get<Secret>(SecretKind, { namespace, name: secret.secretName }))
      if (secret && !found && !secret.optional) {
        rmSync(folder, { recursive: true })
        return setStatus(pod, { phase: 'Pending', ...statusOf({ waiting: { reason: 'ContainerCreating' } }) })
      }
      const mount: Mount = { folder: target, ...(options.start ? {} : { path: mountPath }) }
      if (secret) secrets.set(secret.secretName, mount)
      writeFiles(found, mount)
    }
    const inside = (text: string) => {
      if (options.start) return text
      const [from, to] = [...mounts].find(([path]) => text === path || text.startsWith(`${path}/`)) ?? ['', '']
      return to + text.slice(from.length)
    }
    const env = await environmentOf(pod, inside)
    const [program = '', ...flags] = options.program
    // Nothing of this machine reaches it: its group, its folder and its environment are its own.
    const { command, args } = container
    const child = options.start
      ? options.start({ command, args, env, mounts })
      : spawn(program, [...flags, ...args.map(inside)], {
          detached: true,
          cwd: folder,
          env,
          stdio: ['ignore', 'pipe', 'pipe'],
        })
    const one: Container = { pod, folder, child, secrets }
    containers.set(uid, one)
    begun.add(uid)
    started.push(pod.metadata.ownerReferences?.[0]?.name ?? '')
    let output = ''
    const collect = (chunk: Buffer) => {
      output = (output + chunk.toString()).slice(-4000)
    }
    child.stdout?.on('data', collect)
    child.stderr?.on('data', collect)
    child.once('exit', (code, signal) => void ended(one, code ?? (signal === 'SIGKILL' ? 137 : 143), output))
    await setStatus(pod, { phase: 'Running', ...statusOf({ running: { startedAt: new Date().toISOString() } }) })
  }

  async function refreshSecrets(): Promise<void> {
    for (const [uid, { secrets }] of containers)
      for (const [name, target] of secrets) {
        const secret = await objects.get<Secret>(SecretKind, { namespace, name })
        // Its container may have ended meanwhile, and its folder with it.
        if (containers.has(uid)) writeFiles(secret, target)
      }
  }

  /** Without a node, a server deletes a pod without its grace period. */
  async function bind({ metadata: { name } }: Pod): Promise<void> {
    const binding = {
      apiVersion: 'v1',
      kind: 'Binding',
      metadata: { namespace, name },
      target: { kind: 'Node', name: 'n1' },
    }
    try {
      await objects.create(PodKind, binding, { subresource: 'binding' as 'token' })
    } catch (error) {
      if (!isKubeError(error, 'Conflict')) throw error
    }
  }

  async function environmentOf(pod: Pod, inside: (text: string) => string): Promise<Record<string, string>> {
    const [container] = pod.spec.containers
    const env: Record<string, string> = { PATH: options.path }
    for (const { configMapRef, secretRef } of container?.envFrom ?? []) {
      const name = configMapRef?.name ?? secretRef?.name ?? ''
      const key = { namespace, name }
      const config = configMapRef && (await objects.get<ConfigMap>(ConfigMapKind, key))
      for (const [one, text] of Object.entries(config?.data ?? {})) env[one] = inside(text)
      const secret = secretRef && (await objects.get<Secret>(SecretKind, key))
      for (const [one, text] of Object.entries(secret?.data ?? {}))
        env[one] = inside(Buffer.from(text, 'base64').toString())
    }
    const fields: Record<string, string> = {
      'metadata.name': pod.metadata.name,
      'metadata.namespace': namespace,
      'metadata.uid': pod.metadata.uid ?? '',
    }
    for (const { name, value, valueFrom } of container?.env ?? []) {
      const text = valueFrom ? (fields[valueFrom.fieldRef.fieldPath] ?? '') : (value ?? '')
      env[name] = inside(text.replace(/\$\((\w+)\)/g, (whole, other: string) => env[other] ?? whole))
    }
    return env
  }

  async function ended(one: Container, exitCode: number, output: string): Promise<void> {
    const { pod, reason = exitCode === 0 ? 'Completed' : 'Error' } = one
    const message = exitCode === 0 ? {} : { message: output.slice(-2000) }
    const state = { terminated: { exitCode, reason, finishedAt: new Date().toISOString(), ...message } }
    try {
      const phase = exitCode === 0 ? 'Succeeded' : 'Failed'
      if (!one.isLost) await setStatus(pod, { phase, ...statusOf(state), ...one.status })
    } catch (error) {
      if (!isKubeError(error)) throw error
    } finally {
      rmSync(one.folder, { recursive: true, force: true })
      containers.delete(pod.metadata.uid ?? '')
    }
  }

  /** SIGTERM, the grace period, then SIGKILL; the object goes when the process has. */
  async function terminate(pod: Pod): Promise<void> {
    const one = containers.get(pod.metadata.uid ?? '')
    if (one?.isStopping) return
    if (one) {
      one.isStopping = true
      one.child.kill('SIGTERM')
      const graceMs = (pod.spec.terminationGracePeriodSeconds ?? 30) * 1000
      setTimeout(() => killGroup(one), graceMs).unref()
      return
    }
    const key = { namespace, name: pod.metadata.name }
    if (removePod) removePod(pod.metadata.name)
    else await objects.patch(PodKind, key, { type: 'merge', body: { metadata: { finalizers: null } } })
  }

  async function step(): Promise<void> {
    const jobs: Job[] = []
    const pods: Pod[] = []
    for await (const job of objects.list<Job>(JobKind, { namespace })) jobs.push(job)
    for await (const pod of objects.list<Pod>(PodKind, { namespace })) pods.push(pod)
    for (const pod of pods) {
      const isDone = ['Succeeded', 'Failed'].includes(pod.status?.phase ?? '')
      const pending = find(held, pod.metadata.ownerReferences?.[0]?.name)
      if (pod.metadata.deletionTimestamp) await terminate(pod)
      else if (!isDone && pending) await setStatus(pod, { phase: 'Pending', ...pending })
      else if (!isDone) await startContainer(pod)
    }
    const uids = new Set(pods.map(({ metadata }) => metadata.uid))
    for (const [uid, one] of containers) if (!uids.has(uid)) killGroup(one)
    if (removePod) return
    for (const job of jobs) {
      const own = pods.filter(({ metadata }) => metadata.ownerReferences?.some(({ uid }) => uid === job.metadata.uid))
      const phase = own[0]?.status?.phase ?? ''
      const refusal = find(refused, job.metadata.name)
      if (own.length === 0 && refusal !== undefined) await refusePod(job, refusal)
      else if (own.length === 0 && !job.status?.conditions?.length && !job.metadata.deletionTimestamp)
        await makePod(job)
      else if (['Succeeded', 'Failed'].includes(phase) && !job.status?.conditions?.length) {
        const now = new Date().toISOString()
        const type = phase === 'Succeeded' ? 'Complete' : 'Failed'
        const conditions = [{ type, status: 'True', lastProbeTime: now, lastTransitionTime: now }]
        const key = { namespace, name: job.metadata.name }
        await objects.patch(
          JobKind,
          key,
          { type: 'merge', body: { status: { conditions } } },
          { subresource: 'status' },
        )
      }
    }
  }

  const loop = (async () => {
    for (let i = 1; !isOver; i++) {
      const poll = async () => {
        await step()
        if (i % REFRESH_POLLS === 0) await refreshSecrets()
      }
      await poll().catch((error: unknown) => {
        if (!isKubeError(error)) throw error
      })
      await new Promise((resolve) => setTimeout(resolve, POLL_MS))
    }
  })()

  // An actor that has stopped by mistake must not look like a cluster that does nothing.
  loop.catch((error: unknown) =>
    setImmediate(() => {
      throw error
    }),
  )

  const kill: ClusterActor['kill'] = async (reason, { job = '', status } = { job: '' }) => {
    const all = [...containers.values()].filter(({ pod }) => pod.metadata.ownerReferences?.[0]?.name.startsWith(job))
    for (const one of all) {
      if (reason !== undefined) one.reason = reason
      if (status) one.status = status
      killGroup(one)
    }
    while (all.some(({ pod }) => containers.has(pod.metadata.uid ?? '')))
      await new Promise((resolve) => setTimeout(resolve, 20))
  }
  const loseNode = async () => {
    const lost = [...containers.values()]
    for (const one of lost) one.isLost = true
    await kill()
    for (const { pod } of lost) {
      const key = { namespace, name: pod.metadata.name }
      await objects.patch(PodKind, key, { type: 'merge', body: { metadata: { finalizers: null } } }).catch(ignoreGone)
      await objects.delete(PodKind, key)
    }
  }
  return {
    containers,
    started,
    kill,
    loseNode,
    hold: (status, job = '') => {
      if (status) held.set(job, status)
      else held.delete(job)
    },
    refuse: (job, message) => {
      refused.set(job, message)
    },
    async stop() {
      isOver = true
      await loop
      await kill()
    },
  }
}

/** Files whose content has not changed are left alone. Those that name their own folder find it where it is here. */
function writeFiles(secret: Secret | undefined, { folder, path: seen }: Mount): void {
  for (const [key, text] of Object.entries(secret?.data ?? {})) {
    const path = join(folder, key)
    const given = Buffer.from(text, 'base64').toString('latin1')
    const bytes = Buffer.from(seen === undefined ? given : given.replaceAll(`${seen}/`, `${folder}/`), 'latin1')
    if (!existsSync(path) || !readFileSync(path).equals(bytes)) writeFileSync(path, bytes, { mode: 0o600 })
  }
}

function ignoreGone(error: unknown): void {
  if (!isKubeError(error, 'NotFound')) throw error
}

/** A container ends with everything in it: the runner's group, and Terraform's, whose parent it is. */
function killGroup({ child }: Container): void {
  if (child.pid === undefined) return
  for (const pid of descendants(child.pid)) {
    try {
      process.kill(pid, 'SIGKILL')
    } catch {
      // It has ended by itself.
    }
  }
}

function descendants(root: number): readonly number[] {
  const parents = new Map<number, number>()
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue
    try {
      const stat = readFileSync(`/proc/${name}/stat`, 'latin1')
      parents.set(Number(name), Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]))
    } catch {
      // It is gone.
    }
  }
  const found = [root]
  for (const pid of found) for (const [child, parent] of parents) if (parent === pid) found.push(child)
  return found
}
