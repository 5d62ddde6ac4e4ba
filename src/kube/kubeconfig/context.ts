// One context of the kubeconfigs that were chosen, as a kubeconfig of its own: for a process that must reach the same
// server, whatever its folder and its environment are.
import { isAbsolute, resolve } from 'node:path'
import { isPlainObject } from '#lib'
import { type Entry, type Fields, invalid, kubeconfigPaths, readKubeconfigFiles } from './file.ts'
import type { AccessOptions } from './kubeconfig.ts'

const FILE_FIELDS = ['certificate-authority', 'client-certificate', 'client-key', 'tokenFile']

/** Text in JSON, which every reader of YAML understands. Paths in it are absolute. */
export async function toSingleContext(options: AccessOptions): Promise<string> {
  const { env = process.env, path, context } = options
  const config = await readKubeconfigFiles(kubeconfigPaths(env, path))
  const name = context ?? config.currentContext ?? ''
  const chosen = config.contexts.get(name)
  if (!chosen) throw invalid(`contexts: there is no context ${name}`, config.origin, 'choose one with --context')
  const cluster = config.clusters.get(String(chosen.fields['cluster']))
  const user = config.users.get(String(chosen.fields['user']))
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    clusters: cluster ? [{ name: chosen.fields['cluster'], cluster: withAbsolutePaths(cluster) }] : [],
    users: user ? [{ name: chosen.fields['user'], user: withAbsolutePaths(user) }] : [],
    contexts: [{ name, context: chosen.fields }],
    'current-context': name,
  })
}

function withAbsolutePaths({ fields, folder = '.' }: Entry): Fields {
  const absolute = (path: string) => (isAbsolute(path) ? path : resolve(folder, path))
  const paths = FILE_FIELDS.flatMap((field) => {
    const path = fields[field]
    return typeof path === 'string' && path !== '' ? [[field, absolute(path)] as const] : []
  })
  return { ...fields, ...Object.fromEntries(paths), ...withAbsoluteCommand(fields['exec'], absolute) }
}

/** A program without a folder in its name is looked for on the PATH, as kubectl does. */
function withAbsoluteCommand(exec: unknown, absolute: (path: string) => string): Fields {
  const command = isPlainObject(exec) ? exec['command'] : undefined
  if (typeof command !== 'string' || !command.includes('/')) return {}
  return { exec: { ...(exec as Fields), command: absolute(command) } }
}
