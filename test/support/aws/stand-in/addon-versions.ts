// Versions of EKS add-ons, newest first, and the Kubernetes versions they fit. A choice that has an older and a newer
// version of every add-on, not a copy of AWS's list.
import { Fault, type Json, listAnswer } from './call.ts'

const KUBERNETES = ['1.36', '1.35', '1.34', '1.33', '1.32', '1.31']
const PLATFORMS = ['amd64', 'arm64']

interface Known {
  readonly type: string
  readonly namespace: string
  /** `MINOR` stands for the Kubernetes version: such an add-on has versions of its own for each. */
  readonly versions: readonly string[]
  readonly needsIam?: boolean
}

const ADDONS: Readonly<Record<string, Known>> = {
  coredns: {
    type: 'networking',
    namespace: 'kube-system',
    versions: ['v1.13.1-eksbuild.1', 'v1.12.4-eksbuild.1', 'v1.11.4-eksbuild.24'],
  },
  'kube-proxy': {
    type: 'networking',
    namespace: 'kube-system',
    versions: ['vMINOR.1-eksbuild.2', 'vMINOR.0-eksbuild.2'],
  },
  'vpc-cni': {
    type: 'networking',
    namespace: 'kube-system',
    versions: ['v1.21.1-eksbuild.1', 'v1.20.4-eksbuild.2'],
    needsIam: true,
  },
  'eks-pod-identity-agent': {
    type: 'security',
    namespace: 'kube-system',
    versions: ['v1.3.10-eksbuild.1', 'v1.3.8-eksbuild.2'],
  },
  'aws-ebs-csi-driver': {
    type: 'storage',
    namespace: 'kube-system',
    versions: ['v1.53.0-eksbuild.1', 'v1.48.0-eksbuild.1'],
    needsIam: true,
  },
  'metrics-server': {
    type: 'observability',
    namespace: 'kube-system',
    versions: ['v0.8.0-eksbuild.3', 'v0.7.2-eksbuild.4'],
  },
}

/** Versions of an add-on for one Kubernetes version, newest first; the second is the default, as it mostly is in EKS. */
export function versionsOf(addon: string, kubernetes: string): readonly string[] {
  if (!Object.hasOwn(ADDONS, addon) || !KUBERNETES.includes(kubernetes)) return []
  return ADDONS[addon]!.versions.map((version) => version.replace('MINOR', kubernetes))
}

export const defaultVersionOf = (addon: string, kubernetes: string): string | undefined =>
  versionsOf(addon, kubernetes)[1]

export const namespaceOf = (addon: string): string => ADDONS[addon]!.namespace

export const isAddon = (name: string): boolean => Object.hasOwn(ADDONS, name)

/** DescribeAddonVersions. */
export function describeVersions(query: URLSearchParams): Json {
  const wanted = query.get('addonName')
  if (wanted !== null && !isAddon(wanted))
    throw new Fault('InvalidParameterException', 'Addon specified is not supported', { addonName: wanted })
  const only = (name: string, value: string): boolean => {
    const values = query.getAll(name)
    return values.length === 0 || values.includes(value)
  }
  const infos = Object.entries(ADDONS)
    .filter(([name, { type }]) => (wanted ?? name) === name && only('types', type))
    .filter(() => only('owners', 'aws') && only('publishers', 'eks'))
    .map(([addonName, { type, namespace, needsIam = false }]) => ({
      addonName,
      type,
      publisher: 'eks',
      owner: 'aws',
      defaultNamespace: namespace,
      addonVersions: infosOf(addonName, query.get('kubernetesVersion'), needsIam),
    }))
    .filter(({ addonVersions }) => addonVersions.length > 0)
  return listAnswer('addons', infos, query)
}

function infosOf(addon: string, kubernetes: string | null, requiresIamPermissions: boolean): readonly Json[] {
  const fits = KUBERNETES.filter((minor) => kubernetes === null || minor === kubernetes)
  const versions = [...new Set(fits.flatMap((minor) => versionsOf(addon, minor)))]
  return versions.map((addonVersion) => ({
    addonVersion,
    architecture: PLATFORMS,
    computeTypes: ['ec2', 'auto', 'hybrid'],
    compatibilities: fits
      .filter((minor) => versionsOf(addon, minor).includes(addonVersion))
      .map((clusterVersion) => ({
        clusterVersion,
        platformVersions: ['*'],
        defaultVersion: defaultVersionOf(addon, clusterVersion) === addonVersion,
      })),
    requiresConfiguration: false,
    requiresIamPermissions,
  }))
}
