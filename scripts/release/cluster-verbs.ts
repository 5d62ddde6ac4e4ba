// install, uninstall, deploy and undeploy, with the meaning that Cluster API providers give them: the kinds alone, or
// everything, in the cluster of the kubeconfig. Apart from the other verbs, because rendering loads every kind.
import { ALL_KINDS, crdName } from '#api'
import { releaseFiles } from '../release-files.ts'
import { type Inputs, only, type Requirement, type Work } from './verbs.ts'

const KUBECTL: readonly Requirement[] = [
  {
    command: ['kubectl', 'version', '--client'],
    missing: 'kubectl is not installed',
    hint: 'install kubectl, or apply dist/installer/install.yaml by another tool',
  },
  {
    command: ['kubectl', 'get', '--raw', '/readyz'],
    missing: 'kubectl reaches no cluster that is ready',
    hint: 'choose one with KUBECONFIG or kubectl config use-context',
  },
]
/** Without their manager the finalizers of these objects wait for ever, and what Terraform made stays. */
const NO_OBJECTS: readonly Requirement[] = ALL_KINDS.map((kind) => ({
  command: ['kubectl', 'get', crdName(kind), '--all-namespaces', '--output', 'name'],
  printsNothing: true,
  missing: `there are objects of kind ${kind.kind}, or they cannot be listed`,
  hint: `delete the clusters first: kubectl get ${crdName(kind)} -A`,
}))

const rendered = new Map<string, ReturnType<typeof releaseFiles>>()

/** Rendering takes most of a second, and the tests of these verbs ask a dozen times for the same files. */
function filesOf(version: string, image: string): ReturnType<typeof releaseFiles> {
  const key = `${image}:${version}`
  const files = rendered.get(key) ?? releaseFiles({ version, image })
  rendered.set(key, files)
  return files
}

function manifests(file: 'crds.yaml' | 'install.yaml', verb: 'apply' | 'delete') {
  return (inputs: Inputs): Work => {
    const input = filesOf(inputs.version, inputs.image).get(file)!
    const about = `${file} of v${inputs.version}, images from ${inputs.image}`
    return verb === 'apply'
      ? only({
          requirements: KUBECTL,
          steps: [{ run: ['kubectl', 'apply', '--server-side', '-f', '-'], input, about }],
        })
      : only({
          requirements: [...KUBECTL, ...NO_OBJECTS],
          steps: [{ run: ['kubectl', 'delete', '--ignore-not-found', '-f', '-'], input, about }],
        })
  }
}

export const CLUSTER_VERBS: Readonly<Record<string, (inputs: Inputs) => Work>> = {
  install: manifests('crds.yaml', 'apply'),
  uninstall: manifests('crds.yaml', 'delete'),
  deploy: manifests('install.yaml', 'apply'),
  undeploy: manifests('install.yaml', 'delete'),
}
