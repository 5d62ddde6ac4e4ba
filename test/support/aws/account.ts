// An AWS account for a reader of the documentation: moto and the stand-in play AWS, the templates `vpc` and
// `eks-controlplane` end there, and the API of its clusters is an embedded home.
import { stringify } from 'yaml'
import type { Shipped } from '../../shipped/support.ts'
import { planted } from '../secrets/planted.ts'
import { type EksEndpoint, startEksEndpoint } from './eks-endpoint.ts'
import { startExistingCluster } from './existing-cluster.ts'
import { type Moto, type MotoProgram, startMoto } from './moto.ts'
import { eksTemplate, makeNetwork, vpcTemplate } from './moto-templates.ts'

export interface Account {
  /** Credentials and where AWS is, as in the shell of its owner. */
  readonly env: Readonly<Record<string, string>>
  /** Manifests of the templates that clusters refer to; none where the cluster is there already. */
  readonly templates?: string
  close(): Promise<void>
}

const REGION = 'eu-west-1'

export async function openAccount(program: MotoProgram, shipped: Shipped): Promise<Account> {
  const moto: Moto = await startMoto(program)
  const endpoint: EksEndpoint = await startEksEndpoint((await shipped.up('workload')).kubeconfig)
  const network = await makeNetwork(moto, REGION)
  const templates = [vpcTemplate(network, 'vpc'), eksTemplate(moto, endpoint, 'eks-controlplane')]
  return {
    env: {
      AWS_ENDPOINT_URL: moto.url,
      AWS_REGION: REGION,
      // Version 1 of the aws command reads this one.
      AWS_DEFAULT_REGION: REGION,
      AWS_ACCESS_KEY_ID: 'key-of-a-reader',
      AWS_SECRET_ACCESS_KEY: planted('/of+a-reader'),
    },
    templates: templates.map((one) => stringify(one)).join('---\n'),
    async close() {
      await endpoint.close()
      await moto.stop()
    },
  }
}

/** An account with an EKS cluster that capt did not make, in which Flux runs. */
export async function openAccountWith(cluster: string, program: MotoProgram, shipped: Shipped): Promise<Account> {
  const { env, close } = await startExistingCluster(program, shipped.folder, { name: cluster, hasAutoscaler: false })
  return { env: { ...env, AWS_DEFAULT_REGION: REGION }, close }
}
