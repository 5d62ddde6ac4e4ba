// An EKS cluster that capt did not make: an account in moto with the stand-in, a real API server behind the endpoint of the
// cluster, and simulation actors that play its nodes, Flux and Karpenter.
import assert from 'node:assert/strict'
import { connect, type Objects } from '#kube'
import { type Shipped, shippedProgram } from '../../shipped/support.ts'
import { type EksEndpoint, startEksEndpoint } from '../../support/aws/eks-endpoint.ts'
import { CLUSTER, type ExistingAccount, startExistingAccount } from '../../support/aws/existing-account.ts'
import type { MotoProgram } from '../../support/aws/moto.ts'
import type { Ran } from '../../support/tools.ts'
import { accessOf } from './api.ts'
import { type Kube, startKube, until } from './lab.ts'
import type { Loose } from './loose.ts'
import { startPlaying } from './world.ts'

/** What comes and goes by itself. */
const PASSING = /^(events|leases|pods|replicasets|endpoints|endpointslices|componentstatuses|controllerrevisions)(\.|$)/

interface Everything {
  readonly account: unknown
  /** Every object of the cluster with what a person wrote into it. */
  readonly cluster: Readonly<Record<string, unknown>>
}

export interface ExistingWorld {
  readonly shipped: Shipped
  readonly account: ExistingAccount
  readonly kube: Kube
  readonly endpoint: EksEndpoint
  readonly objects: Objects
  /** capt karpenter VERB with the name of the cluster; anything but success fails the test. */
  ok(verb: string, ...more: readonly string[]): Promise<Ran>
  observe(): Promise<Everything>
  /** The server takes a while to forget the group of a definition that is gone. */
  untilLike(before: Everything): Promise<void>
  close(): Promise<void>
}

export async function startExistingWorld(moto: MotoProgram, name: string): Promise<ExistingWorld> {
  const shipped = shippedProgram()
  const [account, kube] = await Promise.all([startExistingAccount(moto), startKube({ name })])
  const playing = await startPlaying({ namespace: 'default', name: CLUSTER }, kube, kube)
  const endpoint = await startEksEndpoint(kube.kubeconfig)
  account.moto.standIn.api = { url: endpoint.url, caData: endpoint.caData }

  const everything = (): Everything['cluster'] => {
    const kinds = kube
      .kubectl(['api-resources', '--verbs=list,get', '-o', 'name'])
      .split('\n')
      .filter((one) => one !== '' && !PASSING.test(one))
    const { items } = JSON.parse(kube.kubectl(['get', kinds.join(','), '-A', '-o', 'json'])) as { items: Loose[] }
    return Object.fromEntries(
      items.map(({ apiVersion, kind, metadata, status: _status, ...content }) => [
        `${apiVersion} ${kind} ${metadata.namespace ?? ''}/${metadata.name}`,
        { ...content, labels: metadata.labels, finalizers: metadata.finalizers },
      ]),
    )
  }

  return {
    shipped,
    account,
    kube,
    endpoint,
    objects: connect(accessOf(kube)).objects,
    async ok(verb, ...more) {
      const options = { env: { ...shipped.env, ...account.env }, timeoutMs: 300_000 }
      const ran = await shipped.capt(['karpenter', verb, CLUSTER, ...more], options)
      assert.equal(ran.code, 0, ran.out + ran.err)
      return ran
    },
    observe: async () => ({ account: await account.account(), cluster: everything() }),
    untilLike: ({ cluster }) =>
      until('the end of what was served', () => hasSameNames(everything(), cluster), 60).catch(() => undefined),
    async close() {
      await playing.stop()
      await endpoint.close()
      await kube.stop()
      await account.moto.stop()
      await shipped.end()
    },
  }
}

const hasSameNames = (a: object, b: object): boolean => Object.keys(a).sort().join() === Object.keys(b).sort().join()
