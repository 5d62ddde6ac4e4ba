// Machines, their sets and deployments, and the templates of node groups. In the older project no machine belonged to a
// cluster, and nothing was made from its machine templates.
import {
  CAPTBootstrapConfig,
  CAPTMachinePool,
  CAPTMachinePoolTemplate,
  CLUSTER_NAME_LABEL,
  type UnknownObject,
} from '#api'
import { isPlainObject } from '#lib'
import type { ImportContext } from '../context.ts'
import { dropped, Editor, fieldsOf, kept, type Outcome, refused, subjectOf, textOf } from '../outcome.ts'

/** The Cluster of a machine; in the older project none was named. */
function clusterOf(object: UnknownObject, context: ImportContext): string | undefined {
  return object.metadata.labels?.[CLUSTER_NAME_LABEL] ?? context.onlyCluster(context.namespaceOf(object))
}

const withoutCluster = (object: UnknownObject): Outcome =>
  refused(
    object,
    'it names no Cluster, and the input has not exactly one in its namespace',
    `set the label ${CLUSTER_NAME_LABEL} on it, or give the Cluster with -f`,
  )

const BELONGS = 'added: a machine belongs to a Cluster here'

export function mapMachine(object: UnknownObject, context: ImportContext): Outcome {
  const cluster = clusterOf(object, context)
  if (cluster === undefined) return withoutCluster(object)
  const set = ownerIn(object, 'CAPTMachineSet', context)
  if (set && ownerIn(set, 'CAPTMachineDeployment', context))
    return refused(
      object,
      'it belongs to a set of a CAPTMachineDeployment, which would make another machine in its place',
      'import the machine without the deployment, or the deployment without its machines (--skip-refused) once they may go',
    )
  const edit = new Editor(object)
  if (object.metadata.labels?.[CLUSTER_NAME_LABEL] === undefined) edit.label({ [CLUSTER_NAME_LABEL]: cluster }, BELONGS)
  const missing = Object.entries(set ? labelsOfSet(set) : {}).filter(
    ([key, value]) => object.metadata.labels?.[key] !== value,
  )
  if (missing.length > 0)
    edit.label(
      Object.fromEntries(missing),
      `added: CAPTMachineSet ${set?.metadata.name ?? ''} selects its machines by it`,
    )
  localizeMachine(edit, 'spec', object, context)
  return edit.done()
}

function ownerIn(object: UnknownObject, kind: string, context: ImportContext): UnknownObject | undefined {
  const owner = object.metadata.ownerReferences?.find((one) => one.kind.toLowerCase() === kind.toLowerCase())
  return owner && context.find(kind, context.namespaceOf(object), owner.name)
}

/** The labels that a set selects its machines by; chosen here where it has no selector. */
function labelsOfSet(object: UnknownObject): Readonly<Record<string, string>> {
  const spec = fieldsOf(object['spec'])
  const selector = fieldsOf(spec['selector'])
  const labels = fieldsOf(fieldsOf(fieldsOf(spec['template'])['metadata'])['labels'])
  if (Object.keys(selector).length > 0) return fieldsOf(selector['matchLabels']) as Record<string, string>
  return Object.keys(labels).length > 0 ? (labels as Record<string, string>) : { [SET_LABEL]: object.metadata.name }
}

function localizeMachine(edit: Editor, spec: string, object: UnknownObject, context: ImportContext): void {
  context.localize(edit, `${spec}.workspaceTemplateRef`, object, 'WorkspaceTemplate')
  context.localize(edit, `${spec}.nodeGroupRef`, object, 'CAPTMachinePool or WorkspaceTemplateApply')
}

const SET_LABEL = 'capt.appthrust.com/imported-set'

/** A CAPTMachineSet or CAPTMachineDeployment. */
export function mapReplicas(object: UnknownObject, context: ImportContext): Outcome {
  const template = fieldsOf(fieldsOf(object['spec'])['template'])
  const labels = fieldsOf(fieldsOf(template['metadata'])['labels'])
  const cluster = textOf(labels[CLUSTER_NAME_LABEL]) ?? clusterOf(object, context)
  if (cluster === undefined) return withoutCluster(object)
  if (ownerIn(object, 'CAPTMachineDeployment', context))
    return dropped(object, 'its CAPTMachineDeployment makes its own sets')
  const edit = new Editor(object)
  if (object.metadata.labels?.[CLUSTER_NAME_LABEL] === undefined) edit.label({ [CLUSTER_NAME_LABEL]: cluster }, BELONGS)
  const hasSelector = Object.keys(fieldsOf(edit.get('spec.selector'))).length > 0
  const chosen = hasSelector ? {} : labelsOfSet(object)
  const metadata = { ...annotationsOf(template), labels: { ...labels, ...chosen, [CLUSTER_NAME_LABEL]: cluster } }
  edit.set('spec.template.metadata', metadata, BELONGS)
  if (!hasSelector)
    edit.set('spec.selector', { matchLabels: chosen }, 'added: without it every machine would be selected')
  const strategy = edit.get('spec.strategy.type')
  if (strategy !== undefined && strategy !== 'RollingUpdate' && strategy !== 'Recreate')
    edit.set(
      'spec.strategy.type',
      'RollingUpdate',
      `was ${String(strategy)}, which the older project read as "delete all"`,
    )
  localizeMachine(edit, 'spec.template.spec', object, context)
  return edit.done()
}

function annotationsOf(template: Readonly<Record<string, unknown>>): object {
  const { annotations } = fieldsOf(template['metadata'])
  return isPlainObject(annotations) ? { annotations } : {}
}

const FARGATE = 'nodeType is Fargate: capt has no kind whose nodes are Fargate profiles'
const FARGATE_HINT =
  'a Fargate profile stays part of the control plane: keep it in the module of its WorkspaceTemplate; for nodes use a CAPTMachinePool or Karpenter, and leave this template out (--skip-refused)'

export function mapMachineTemplate(object: UnknownObject, context: ImportContext): Outcome {
  const spec = fieldsOf(fieldsOf(fieldsOf(object['spec'])['template'])['spec'])
  const { nodeType } = spec
  // Without it this is a template of capt, made for machines.
  if (nodeType === undefined) return kept(object)
  if (nodeType === 'Fargate') return refused(object, FARGATE, FARGATE_HINT)
  if (nodeType !== 'ManagedNodeGroup')
    return refused(object, `nodeType ${String(nodeType)} is not known`, 'it must be ManagedNodeGroup')
  return toPool(object, spec, context)
}

function toPool(object: UnknownObject, spec: Readonly<Record<string, unknown>>, context: ImportContext): Outcome {
  const edit = new Editor(object)
  const { name, namespace } = edit.object.metadata
  const path = 'spec.template.spec'
  edit.set(
    'kind',
    CAPTMachinePoolTemplate.kind,
    `${CAPTMachinePoolTemplate.kind} instead of ${object.kind}: EKS runs the nodes as one group`,
  )
  edit.drop(`${path}.nodeType`, 'a pool is a managed node group')
  const instanceType = textOf(spec['instanceType'])
  edit.drop(`${path}.instanceType`, 'instanceTypes is a list')
  if (instanceType !== undefined) edit.set(`${path}.instanceTypes`, [instanceType], `holds ${instanceType}`)
  const desired = fieldsOf(spec['scaling'])['desiredSize']
  edit.drop(`${path}.scaling.desiredSize`, 'the MachinePool has the number of nodes: spec.replicas')
  const taints = spec['taints']
  if (Array.isArray(taints) && taints.some((one) => fieldsOf(one)['timeAdded'] !== undefined))
    edit.set(
      `${path}.taints`,
      taints.map((one) => {
        const { timeAdded: _added, ...rest } = fieldsOf(one)
        return rest
      }),
      'timeAdded is left out',
    )
  context.localize(edit, `${path}.workspaceTemplateRef`, object, 'WorkspaceTemplate')
  const cluster = clusterOf(object, context)
  if (!context.options.withPools) {
    edit.needs.push(
      `${subjectOf(object)}: nodes, if you want them: the older project made none from this template; --with-pools makes a MachinePool`,
    )
    return edit.done()
  }
  if (cluster === undefined) return withoutCluster(object)
  const pool = fieldsOf(fieldsOf(fieldsOf(edit.object['spec'])['template'])['spec'])
  const metadata = { name, ...(namespace === undefined ? {} : { namespace }) }
  edit.changes.push({
    path: '',
    what: `MachinePool, CAPTMachinePool and CAPTBootstrapConfig ${name} were made for Cluster ${cluster}`,
  })
  return edit.done(poolObjects(metadata, cluster, pool, typeof desired === 'number' ? desired : 1))
}

function poolObjects(
  metadata: UnknownObject['metadata'],
  cluster: string,
  spec: unknown,
  replicas: number,
): readonly UnknownObject[] {
  const { name } = metadata
  const reference = ({ apiVersion, kind }: { readonly apiVersion: string; readonly kind: string }) => ({
    apiVersion,
    kind,
    name,
  })
  return [
    {
      apiVersion: 'cluster.x-k8s.io/v1beta1',
      kind: 'MachinePool',
      metadata,
      spec: {
        clusterName: cluster,
        replicas,
        template: {
          spec: {
            clusterName: cluster,
            bootstrap: { configRef: reference(CAPTBootstrapConfig) },
            infrastructureRef: reference(CAPTMachinePool),
          },
        },
      },
    },
    { apiVersion: CAPTMachinePool.apiVersion, kind: CAPTMachinePool.kind, metadata, spec },
    { apiVersion: CAPTBootstrapConfig.apiVersion, kind: CAPTBootstrapConfig.kind, metadata, spec: {} },
  ]
}
