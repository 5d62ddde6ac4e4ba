// What modules/karpenter takes from the catalogue: versions and policies as files, and the variable table of its README.
import {
  contradictions,
  controllerTrust,
  EVENT_RULES,
  ec2ServiceOf,
  isAtLeast,
  joinedPolicy,
  matrix,
  nodeRolePolicies,
  nodeTrust,
  partitionNames,
  queuePolicy,
  supportRows,
  toVersion,
  versionsFor,
} from '#catalog'

const MODULE = 'modules/karpenter'

export function moduleFiles(readme: string, variables: string, outputs: string): Map<string, string> {
  const faults = contradictions(matrix)
  if (faults.length > 0) throw new Error(`The matrix contradicts itself: ${faults.join('; ')}`)
  const eras = policyEras()
  const files = new Map<string, string>()
  const put = (name: string, value: unknown) => files.set(`${MODULE}/${name}`, `${JSON.stringify(value, null, 2)}\n`)
  put('versions.json', versions(eras))
  for (const { file, document } of eras) put(`policies/${file}`, document)
  put('policies/node-trust.json.tftpl', template(nodeTrust('aws'), { [ec2ServiceOf('aws')]: 'ec2_service' }))
  put('policies/controller-trust-pod-identity.json.tftpl', podIdentityTrust())
  put('policies/controller-trust-irsa.json.tftpl', irsaTrust())
  put('policies/queue.json.tftpl', queuePolicy('${queue_arn}'))
  files.set(`${MODULE}/README.md`, fillTables(readme, variables, outputs))
  return files
}

interface Era {
  readonly from: string
  readonly file: string
  readonly document: unknown
}

const SCOPE = {
  partition: '${partition}',
  region: '${region}',
  accountId: '${account_id}',
  clusterName: '${cluster_name}',
  nodeRoleArn: '${node_role_arn}',
  queueArn: '${queue_arn}',
  zonalShift: true,
}

/** One file per policy that differs from the one before it; the newest last. */
function policyEras(): Era[] {
  const lines = supportRows('karpenter').filter(({ installable }) => installable)
  const eras: Era[] = []
  for (const { line } of lines.toReversed()) {
    const document = joinedPolicy(`${line}.0`, SCOPE)
    const same = JSON.stringify(eras.at(-1)?.document) === JSON.stringify(document)
    if (!same) eras.push({ from: `${line}.0`, file: `controller-${line}.json.tftpl`, document })
  }
  return eras
}

function versions(eras: readonly Era[]) {
  const rows = supportRows('karpenter').filter(({ installable }) => installable)
  const newest = rows[0]!.newest
  const kubernetes = matrix.flatMap((row) => (row.component === 'eks' ? [row.line] : []))
  return {
    source: 'generated from the version matrix of capt; do not edit',
    defaults: Object.fromEntries(
      kubernetes.flatMap((line) => {
        const [best] = versionsFor('karpenter', line)
        return best && isAtLeast(best, '1.0.0') ? [[line, best]] : []
      }),
    ),
    karpenter: rows.map((row) => ({
      from: toNumber(row.from ?? `${row.line}.0`),
      to: toNumber(`${row.line}.999`),
      kubernetes_min: toVersion(row.kubernetes.min).minor,
      kubernetes_max: toVersion(row.kubernetes.max).minor,
    })),
    avoid: rows.flatMap((row) => Object.keys(row.avoid ?? {})),
    policies: eras.map(({ from, file }) => ({ from: toNumber(from), file })),
    node_policies: nodeRolePolicies(newest, 'aws').map((arn) => arn.slice(arn.lastIndexOf('/') + 1)),
    ec2_services: Object.fromEntries(partitionNames().map((name) => [name, ec2ServiceOf(name)])),
    event_rules: Object.fromEntries(
      EVENT_RULES.map(({ key, source, type, about, since }) => [
        key,
        { source, type, about, from: toNumber(since ?? '0.0.0') },
      ]),
    ),
  }
}

/** 1.14.1 as 1014001: Terraform compares numbers, not versions. */
export function toNumber(version: string): number {
  const { major, minor, patch } = toVersion(version)
  return major * 1_000_000 + minor * 1000 + patch
}

const podIdentityTrust = (): unknown =>
  controllerTrust({ identity: 'podIdentity', clusterArn: '${cluster_arn}', accountId: '${account_id}' })

function irsaTrust(): unknown {
  const issuer = 'issuer.invalid'
  const trust = controllerTrust({
    identity: 'irsa',
    partition: 'aws',
    accountId: '0',
    issuer,
    namespace: 'NAMESPACE',
    serviceAccount: 'ACCOUNT',
  })
  return template(trust, {
    [`arn:aws:iam::0:oidc-provider/${issuer}`]: 'oidc_provider_arn',
    [issuer]: 'issuer',
    NAMESPACE: 'namespace',
    ACCOUNT: 'service_account',
  })
}

/** Known texts become references to template variables, longest first. */
function template(value: unknown, names: Readonly<Record<string, string>>): unknown {
  let text = JSON.stringify(value)
  for (const [known, name] of Object.entries(names)) text = text.replaceAll(known, `\${${name}}`)
  return JSON.parse(text)
}

export interface ModuleVariable {
  readonly name: string
  readonly type: string
  readonly default: string
  readonly description: string
}

/** Reads variables.tf as it is formatted: one block per variable, one attribute per line, an object type over several. */
export function parseVariables(source: string): ModuleVariable[] {
  return blocks(source, 'variable').map(([name, body]) => ({
    name,
    type: (/^ {2}type +=\s*([\s\S]*?)(?=\n {2}[a-z]|\n*$(?![\s\S]))/m.exec(body)?.[1] ?? '')
      .replace(/\s+/g, ' ')
      .trim(),
    default: /^ {2}default +=\s*(.*)$/m.exec(body)?.[1]?.trim() ?? '',
    description: unquote(/^ {2}description +=\s*(".*")$/m.exec(body)?.[1] ?? '""'),
  }))
}

export function parseOutputs(source: string): { readonly name: string; readonly description: string }[] {
  return blocks(source, 'output').map(([name, body]) => ({
    name,
    description: unquote(/^ {2}description +=\s*(".*")$/m.exec(body)?.[1] ?? '""'),
  }))
}

function blocks(source: string, kind: string): [string, string][] {
  return [...source.matchAll(new RegExp(`^${kind} "([^"]+)" \\{\\n([\\s\\S]*?)^\\}`, 'gm'))].map((match) => [
    match[1]!,
    match[2]!,
  ])
}

const unquote = (text: string): string => JSON.parse(text) as string

function fillTables(readme: string, variables: string, outputs: string): string {
  const variableRows = parseVariables(variables).map(
    ({ name, type, default: fallback, description }) =>
      `| ${name} | \`${type}\` | \`${fallback}\` | ${cell(description)} |`,
  )
  const outputRows = parseOutputs(outputs).map(({ name, description }) => `| ${name} | ${cell(description)} |`)
  const filled = fill(readme, 'variables', [
    '| variable | type | default | what it is |',
    '| --- | --- | --- | --- |',
    ...variableRows,
  ])
  return fill(filled, 'outputs', ['| output | what it is |', '| --- | --- |', ...outputRows])
}

const cell = (text: string) => text.replaceAll('|', '\\|')

function fill(text: string, name: string, lines: readonly string[]): string {
  const section = new RegExp(`(<!-- ${name}: generated -->\\n)[\\s\\S]*?(<!-- end of ${name} -->)`)
  if (!section.test(text)) throw new Error(`README.md has no section for ${name}`)
  return text.replace(section, (_all, begin: string, end: string) => `${begin}${lines.join('\n')}\n${end}`)
}
