// Kubeconfigs as text. The one for Cluster API holds a token, because core cannot run a credential plugin; the one for
// people runs the AWS command line, so it does not expire.
import { toYaml } from '#api'
import { toKubeconfig } from '#lib'

export interface Server {
  /** Name of the cluster in the kubeconfig. */
  readonly name: string
  /** URL of the API server. */
  readonly url: string
  /** PEM, base64. */
  readonly caData: string
}

interface EksAddress {
  readonly clusterName: string
  readonly region: string
  readonly roleArn?: string | undefined
}

export function tokenKubeconfig(server: Server, token: string): string {
  return render(server, { token })
}

export function execKubeconfig(server: Server, eks: EksAddress): string {
  const role = eks.roleArn === undefined ? [] : ['--role-arn', eks.roleArn]
  return render(server, {
    exec: {
      apiVersion: 'client.authentication.k8s.io/v1beta1',
      command: 'aws',
      args: [
        '--region',
        eks.region,
        'eks',
        'get-token',
        '--cluster-name',
        eks.clusterName,
        '--output',
        'json',
        ...role,
      ],
      interactiveMode: 'IfAvailable',
      provideClusterInfo: false,
      installHint: 'Install the AWS command line: https://docs.aws.amazon.com/cli/',
    },
  })
}

function render({ name, url, caData }: Server, user: Readonly<Record<string, unknown>>): string {
  return toYaml(toKubeconfig({ name, server: url, caData, user }))
}
