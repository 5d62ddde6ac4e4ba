// Runs a program of an image in a root of its own, as a container engine would: an empty folder with the files of the image
// and what its base image has of Node, read-only, without rights, process id 1. Needs root and Linux namespaces.
import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process'
import { chmodSync, chownSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { type Image, layOut, type Sources } from './image.ts'

const USER = 65_532
/** Of every official image. The shell that prepares the root finds mount and chroot there too. */
export const IMAGE_PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'
const DEVICES = ['null', 'zero', 'random', 'urandom']
const CERTIFICATES = '/etc/ssl/certs/ca-certificates.crt'

/** Why this machine cannot make such roots; false when it can. */
export function lacksRoots(): string | false {
  if (process.getuid?.() !== 0) return 'unshare and chroot need root'
  const { status, stderr } = spawnSync('unshare', ['--mount', '--pid', '--fork', 'mount', '-t', 'tmpfs', 'x', '/mnt'])
  return status === 0 ? false : `this machine cannot unshare: ${String(stderr)}`
}

export interface EmptyRoot {
  readonly path: string
  /** Every file and folder, below the root; what is mounted at run time is an empty file or folder here. */
  contents(): readonly string[]
  start(container: {
    readonly command: readonly string[]
    readonly env: Readonly<Record<string, string>>
    /** Folders of this machine, by where the program sees them. */
    readonly mounts?: ReadonlyMap<string, string>
    /** Empty folders in memory. */
    readonly temporary?: readonly string[]
  }): ChildProcess
}

export function emptyRoot(path: string, image: Image, sources: Sources): EmptyRoot {
  layOut(image, path, sources)
  // A folder for temporary files belongs to its maker alone; the root of an image is everybody's.
  chmodSync(path, 0o755)
  rmSync(join(path, 'usr/local/bin/node'))
  const base = new Map([[process.execPath, '/usr/local/bin/node'], ...librariesOf(process.execPath)])
  if (existsSync(CERTIFICATES)) base.set(CERTIFICATES, CERTIFICATES)
  for (const name of DEVICES) base.set(`/dev/${name}`, `/dev/${name}`)
  for (const target of base.values()) place(path, target)
  for (const folder of ['proc', 'tmp']) mkdirSync(join(path, folder), { recursive: true })
  // A kubelet writes these two.
  place(path, '/etc/hosts', '127.0.0.1 localhost\n')
  place(path, '/etc/resolv.conf')

  return {
    path,
    contents: () => readdirSync(path, { recursive: true, encoding: 'utf8' }).sort(),
    start({ command, env, mounts = new Map(), temporary = [] }) {
      for (const target of [...mounts.keys(), ...temporary]) mkdirSync(join(path, target), { recursive: true })
      for (const folder of mounts.values()) giveTo(folder)
      const script = [
        'set -e',
        // Remounted read-only at the end; what is mounted inside keeps its own mode.
        `mount --bind ${path} ${path}`,
        ...[...base].map(
          ([from, to]) =>
            `mount -o bind${DEVICES.some((name) => to === `/dev/${name}`) ? '' : ',ro'} ${from} ${path}${to}`,
        ),
        ...[...mounts].map(([to, from]) => `mount --bind ${from} ${path}${to}`),
        ...temporary.map((to) => `mount -t tmpfs -o mode=1777 tmpfs ${path}${to}`),
        `mount -t proc proc ${path}/proc`,
        `mount -o remount,bind,ro ${path}`,
        `cd ${path}`,
        `exec setpriv --no-new-privs chroot --userspec=${USER}:${USER} --groups= ${path} "$@"`,
      ].join('\n')
      const namespaces = ['--mount', '--pid', '--uts', '--ipc', '--fork', '--kill-child']
      return spawn('unshare', [...namespaces, '/bin/sh', '-c', script, 'container', ...command], {
        detached: true,
        env: { ...env, PATH: IMAGE_PATH },
        stdio: ['ignore', 'pipe', 'pipe'],
      })
    },
  }
}

/** Of the first process in the namespace, as this machine sees it. */
export const firstProcess = (child: ChildProcess): number =>
  Number(readFileSync(`/proc/${child.pid}/task/${child.pid}/children`, 'utf8').split(' ')[0])

function place(root: string, target: string, text = ''): void {
  mkdirSync(dirname(join(root, target)), { recursive: true })
  writeFileSync(join(root, target), text)
}

/** As the dynamic linker names them: Node is linked against the C and C++ libraries that every base image has. */
function librariesOf(program: string): readonly (readonly [string, string])[] {
  const text = execFileSync('ldd', [program], { encoding: 'utf8' })
  return [...text.matchAll(/(?:=> |^\s+)(\/\S+) \(/gm)].map(([, path]) => [path!, path!])
}

/** What fsGroup does for the volumes of a pod. */
function giveTo(folder: string): void {
  chownSync(folder, USER, USER)
  for (const name of readdirSync(folder, { recursive: true, encoding: 'utf8' }))
    chownSync(join(folder, name), USER, USER)
}
