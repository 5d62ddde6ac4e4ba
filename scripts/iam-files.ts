// The policies in config/iam and the page about them, from the table of needed permissions in the catalogue.
import { NEEDED_POLICIES, type NeededPolicy, neededPolicy } from '#catalog'

export function iamFiles(): Map<string, string> {
  const files = new Map<string, string>([['docs/iam.md', renderPage()]])
  for (const { name } of NEEDED_POLICIES)
    files.set(`config/iam/${name}.json`, `${JSON.stringify(neededPolicy(name), null, 2)}\n`)
  return files
}

const sizeOf = (name: NeededPolicy['name']): number => JSON.stringify(neededPolicy(name)).length

function renderPage(): string {
  const rows = NEEDED_POLICIES.map(
    ({ name, about }) => `| [\`${name}.json\`](../config/iam/${name}.json) | ${about} | ${sizeOf(name)} |`,
  )
  return `# Permissions in AWS

This page and the policies in [\`config/iam\`](../config/iam) are generated from a table in \`src/catalog/iam/needs\`: for each
resource type that a template uses, itself or by a module it pins, the actions with which Terraform makes, reads, changes and
deletes it, and why; and the calls that capt makes itself. \`capt doctor\` asks AWS which of these actions are denied, before a
first cluster and with \`capt doctor -f\`.

| policy | who needs it | characters of 6144 |
| --- | --- | --- |
${rows.join('\n')}

Attach those that you use to the identity of capt. With \`identity.roleArn\` on a cluster, that role gets them, and the identity of
capt needs \`sts:AssumeRole\` on the role alone. The role of Karpenter's controller is made by the template, with a policy
of its own.

- No action has a wildcard. Roles can be passed to EKS, EC2 and Pod Identity alone, and only the policies that the templates
  attach can be attached to a role.
- **An identity that can create roles can grant permissions.** \`cluster.json\` allows \`iam:CreateRole\` and
  \`iam:PutRolePolicy\`, because Karpenter's role has an inline policy. Keep the identity of capt as you keep an
  administrator's; a permissions boundary on it, or a service control policy, limits what its roles can be.
- The table was compared with the resources of the pinned modules, and every action with AWS's own model of its API. It has
  not been used on a real account yet: an action that turns out to be missing shows as \`AccessDenied\` in \`capt describe\`
  with its name.
- These policies are for AWS. Who may use Kubernetes in the cluster, beside the identity that made it, is
  [a list in the manifest](clusters.md#who-may-use-the-cluster).

${NEEDED_POLICIES.map(renderPart).join('\n')}`
}

function renderPart({ name, about, needs }: NeededPolicy): string {
  const rows = needs
    .filter(({ actions }) => actions.length > 0)
    .map(({ of, actions, reason, resources, condition }) => {
      const scope = [...(resources ?? []), ...Object.values(condition ?? {}).flatMap((keys) => Object.keys(keys))]
      const only = scope.length === 0 ? '' : ` (only ${scope.map((one) => `\`${one}\``).join(', ')})`
      return `| \`${of}\` | ${actions.map((action) => `\`${action}\``).join(' ')}${only} | ${reason} |`
    })
  return `## ${name}.json

For ${about}.

| for | actions | why |
| --- | --- | --- |
${rows.join('\n')}
`
}
