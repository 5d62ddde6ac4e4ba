// The migration of a root module that people run themselves. The new text is planned in a folder beside it, with the module's own
// providers and state, before a file of the module changes. Nothing of the state is written to disk by capt.
import { execFile } from 'node:child_process'
import {
  copyFileSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { findTerraform, readPlanJson } from '#engine'
import {
  decideOnChanges,
  findKarpenter,
  type ModuleFiles,
  type ReleaseFacts,
  refuseRelease,
  refuseTool,
  releasesInState,
  rewriteModule,
} from '#karpenter'
import { CaptError, messageOf, parseDuration, parseJson } from '#lib'
import { type Arguments, EXIT, type Io, withConnection } from '../command.ts'
import { confirm } from '../output.ts'
import { deliver, listOf, prepareDelivery, showFound, showVerdict } from './migrate-cluster.ts'

export async function migrateModule(folder: string, args: Arguments, io: Io): Promise<number> {
  const path = resolve(io.cwd, folder)
  const files = readModule(path, folder)
  const found = findKarpenter(files, listOf(args, 'release'))
  const blocks = [...found.releases, ...found.manifests]
  if (found.releases.length === 0 && found.forgotten.length === 0)
    throw new CaptError('CAPT_MIGRATE_NO_RELEASE', `no helm_release of Karpenter is in ${folder}`, {
      hint: 'where its chart is an expression, name it: --release helm_release.NAME. Child modules are not read',
    })
  const leaving = [...blocks.map(({ address }) => address), ...found.forgotten]
  const changed = rewriteModule(files, blocks)
  showFound(`module ${folder}`, found, io)
  const releases = await planModule(path, folder, changed, leaving, args, io)
  const release = found.releases.find(({ chart }) => chart === 'karpenter')
  const facts = releases.find(({ address }) => address === release?.address)
  const finish = async (): Promise<number> => {
    if (args.values['dry-run'] === true) {
      io.stdout.write('Nothing was changed (--dry-run)\n')
      return EXIT.fine
    }
    if (Object.keys(changed).length > 0) {
      const names = Object.keys(changed).sort().join(', ')
      if (!(await confirm(`Change ${names} in ${folder}?`, args, io))) return EXIT.failed
      for (const [name, text] of Object.entries(changed)) writeFileSync(join(path, name), text)
      io.stdout.write(`${names} changed; next: terraform apply in ${folder}\n`)
    }
    return EXIT.fine
  }
  const clusters = listOf(args, 'cluster')
  if (clusters.length === 0) return await finish()
  return await withConnection(args, io, async (connected) => {
    const target = { connected, args, io, again: `capt karpenter migrate --module ${folder}` }
    const known = facts ?? (release && { ...release, hidden: [] })
    const createPipelines = await prepareDelivery(target, clusters, () => known)
    const code = await finish()
    if (code !== EXIT.fine || args.values['dry-run'] === true) return code
    await createPipelines()
    if (releases.length === 0 && Object.keys(changed).length === 0) return await deliver(target, clusters)
    io.stderr.write(
      `then run this again to label the cluster: ${target.again} --cluster ${clusters.join(' --cluster ')}\n`,
    )
    return EXIT.fine
  })
}

function readModule(path: string, folder: string): ModuleFiles {
  if (!existsSync(path))
    throw new CaptError('CAPT_FILE_UNREADABLE', `${folder} does not exist`, {
      hint: 'give the folder of a root module',
    })
  const names = readdirSync(path).filter((name) => name.endsWith('.tf'))
  return Object.fromEntries(names.sort().map((name) => [name, readFileSync(join(path, name), 'utf8')]))
}

/** Throws where a run would destroy or change IAM; returns the releases in the state. */
async function planModule(
  path: string,
  folder: string,
  changed: ModuleFiles,
  leaving: readonly string[],
  args: Arguments,
  io: Io,
): Promise<readonly ReleaseFacts[]> {
  const { name, version, binary } = await findTerraform({ env: io.env })
  const refusal = refuseTool(`${name} ${version}`)
  if (refusal) throw refusal
  const copy = copyModule(path, changed)
  const env = { ...io.env, TF_IN_AUTOMATION: '1', TF_INPUT: '0' } as NodeJS.ProcessEnv
  const run = async (...words: readonly string[]): Promise<string> => {
    const timeout = parseDuration(String(args.values['wait']))
    const options = { cwd: copy, env, timeout, maxBuffer: 256 * 1024 * 1024 }
    try {
      return (await promisify(execFile)(binary, words, options)).stdout
    } catch (error) {
      const { stderr = '' } = error as { stderr?: string }
      throw new CaptError('CAPT_MIGRATE_PLAN', `${name} ${words[0]} fails: ${stderr.trim() || messageOf(error)}`, {
        hint: `${name} -chdir=${folder} init and plan must work first; nothing was changed`,
      })
    }
  }
  try {
    const state = await run('state', 'pull')
    const releases = state.trim() === '' ? [] : releasesInState(state, leaving)
    for (const release of releases) {
      const refused = release.address.startsWith('helm_release.') ? refuseRelease(release) : undefined
      if (refused && release.name !== 'karpenter-crd') throw refused
    }
    if (releases.length === 0) io.stderr.write(`the state has none of ${leaving.join(', ')}: nothing to forget\n`)
    await run('plan', '-input=false', '-no-color', '-lock=false', '-out=capt.plan')
    const { changes } = readPlanJson(parseJson(await run('show', '-json', 'capt.plan')))
    showVerdict(folder, decideOnChanges(changes), io)
    return releases
  } finally {
    rmSync(copy, { recursive: true, force: true })
  }
}

/** Beside the module, so that paths such as ../network keep their meaning. Folders are linked: nothing writes to them. */
function copyModule(path: string, changed: ModuleFiles): string {
  const copy = mkdtempSync(join(dirname(path), '.capt-migrate-'))
  for (const entry of readdirSync(path, { withFileTypes: true })) {
    if (entry.isDirectory() || entry.isSymbolicLink()) symlinkSync(join(path, entry.name), join(copy, entry.name))
    else if (entry.isFile()) copyFileSync(join(path, entry.name), join(copy, entry.name))
  }
  for (const [name, text] of Object.entries(changed)) writeFileSync(join(copy, name), text)
  return copy
}
