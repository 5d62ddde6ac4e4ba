// Karpenter's own CRDs, from the Go module proxy into Go's own cache. Not every release of the AWS provider is there; of
// the others the pools come from the core module of the same line.
import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parse } from 'yaml'
import { byNewest } from '#catalog'
import type { Loose } from './loose.ts'

const AWS = 'github.com/aws/karpenter-provider-aws'
const CORE = 'sigs.k8s.io/karpenter'

/** Line of the matrix to the release that speaks for it. */
const RELEASES: Readonly<Record<string, readonly [module: string, version: string]>> = {
  '1.14': [AWS, '1.14.1'],
  '1.13': [CORE, '1.13.0'],
  '1.12': [AWS, '1.12.1'],
  '1.11': [CORE, '1.11.2'],
  '1.10': [CORE, '1.10.0'],
  '1.9': [CORE, '1.9.0'],
  '1.8': [AWS, '1.8.6'],
  '1.7': [CORE, '1.7.1'],
  '1.6': [AWS, '1.6.3'],
  '1.5': [CORE, '1.5.5'],
  '1.4': [CORE, '1.4.0'],
  '1.3': [AWS, '1.3.3'],
  '1.2': [AWS, '1.2.1'],
  '1.1': [CORE, '1.1.5'],
  '1.0': [AWS, '1.0.14'],
}

export const KARPENTER_LINES: readonly string[] = Object.keys(RELEASES).sort(byNewest)

export interface RowDefinitions {
  readonly pool: Loose
  /** Undefined where the proxy has no release of the AWS provider. */
  readonly nodeClass: Loose | undefined
}

const hasClass = (line: string) => RELEASES[line]![0] === AWS

export function definitionsOf(line: string): RowDefinitions {
  const nodeClass = hasClass(line) ? readDefinition(line, 'karpenter.k8s.aws_ec2nodeclasses.yaml') : undefined
  return { pool: readDefinition(line, 'karpenter.sh_nodepools.yaml'), nodeClass }
}

/** The next newer and the next older line whose node class is known. */
export function neighboursOf(line: string): readonly [newer: string, older: string] {
  const at = KARPENTER_LINES.indexOf(line)
  return [KARPENTER_LINES.slice(0, at).findLast(hasClass)!, KARPENTER_LINES.slice(at).find(hasClass)!]
}

function readDefinition(line: string, name: string): Loose {
  const [module, version] = RELEASES[line]!
  return parse(readFileSync(join(definitionsFolder(module, version), name), 'utf8')) as Loose
}

/** Pools and node classes of one release of the AWS provider, as YAML. */
export function awsDefinitions(version: string): string[] {
  const folder = definitionsFolder(AWS, version)
  return readdirSync(folder)
    .filter((name) => /nodepools|ec2nodeclasses/.test(name))
    .map((name) => readFileSync(join(folder, name), 'utf8'))
}

const folders = new Map<string, string>()

function definitionsFolder(module: string, version: string): string {
  const wanted = `${module}@v${version}`
  const known = folders.get(wanted)
  if (known) return known
  const folder = join(moduleFolder(wanted), 'pkg/apis/crds')
  folders.set(wanted, folder)
  return folder
}

/** The charts of one release of the AWS provider, by their names. */
export const chartsFolder = (version: string): string => join(moduleFolder(`${AWS}@v${version}`), 'charts')

function moduleFolder(module: string): string {
  const answer = execFileSync('go', ['mod', 'download', '-json', module], { cwd: tmpdir(), encoding: 'utf8' })
  return (JSON.parse(answer) as { Dir: string }).Dir
}
