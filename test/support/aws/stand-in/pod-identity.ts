// Pod Identity associations: one role for each service account of a namespace.
import { randomBytes } from 'node:crypto'
import { type ClusterCall, Fault, type Json, listAnswer, now, type Route, tagsOf, textOf } from './call.ts'
import { arnIn, type ClusterState, type PodIdentityAssociation } from './cluster-state.ts'

const ROLE = /^arn:aws[a-z-]*:iam::\d{12}:role\/.+$/
const LETTERS = 'abcdefghijklmnopqrstuvwxyz0123456789'

const toAssociation = (cluster: ClusterState, association: PodIdentityAssociation): Json => ({
  association: { clusterName: cluster.name, ...association },
})

function associationAt({ cluster, at }: ClusterCall): PodIdentityAssociation {
  const found = cluster.associations.get(at['id']!)
  if (found) return found
  throw new Fault('ResourceNotFoundException', `No association found for id: ${at['id']}`, {
    clusterName: cluster.name,
  })
}

function roleOf(body: Json, field: string): string {
  const role = textOf(body, field)
  if (!ROLE.test(role)) throw new Fault('InvalidParameterException', `Invalid ${field}: ${role}`)
  return role
}

/** Makes the association of a service account; add-ons do so as well, and own what they made. */
export function associate(cluster: ClusterState, body: Json, ownerArn?: string): PodIdentityAssociation {
  const namespace = textOf(body, 'namespace')
  const serviceAccount = textOf(body, 'serviceAccount')
  const known = [...cluster.associations.values()].find(
    (one) => one.namespace === namespace && one.serviceAccount === serviceAccount,
  )
  if (known) throw new Fault('ResourceInUseException', `Association already exists: ${known.associationId}`)
  const associationId = `a-${[...randomBytes(17)].map((byte) => LETTERS[byte % LETTERS.length]).join('')}`
  const association: PodIdentityAssociation = {
    associationId,
    associationArn: arnIn(cluster, 'podidentityassociation', associationId),
    namespace,
    serviceAccount,
    createdAt: now(),
    modifiedAt: now(),
    tags: tagsOf(body),
    roleArn: roleOf(body, 'roleArn'),
    disableSessionTags: body['disableSessionTags'] === true,
    ...(ownerArn === undefined ? {} : { ownerArn }),
  }
  changeTarget(association, body)
  cluster.associations.set(associationId, association)
  return association
}

function changeTarget(association: PodIdentityAssociation, body: Json): void {
  if (body['policy'] !== undefined) association.policy = String(body['policy'])
  if (body['targetRoleArn'] === undefined) return
  association.targetRoleArn = roleOf(body, 'targetRoleArn')
  association.externalId ??= `${association.associationArn}/external-id`
}

function update(call: ClusterCall): Json {
  const association = associationAt(call)
  if (call.body['roleArn'] !== undefined) association.roleArn = roleOf(call.body, 'roleArn')
  if (call.body['disableSessionTags'] !== undefined)
    association.disableSessionTags = call.body['disableSessionTags'] === true
  changeTarget(association, call.body)
  association.modifiedAt = now()
  return toAssociation(call.cluster, association)
}

const ASSOCIATIONS = '/clusters/:cluster/pod-identity-associations'

export const POD_IDENTITY_ROUTES: readonly Route[] = [
  {
    method: 'POST',
    path: ASSOCIATIONS,
    answer: ({ cluster, body }) => toAssociation(cluster, associate(cluster, body)),
  },
  {
    method: 'GET',
    path: ASSOCIATIONS,
    answer({ cluster, query }) {
      const summaries = [...cluster.associations.values()]
        .filter(({ namespace }) => [null, namespace].includes(query.get('namespace')))
        .filter(({ serviceAccount }) => [null, serviceAccount].includes(query.get('serviceAccount')))
        .map(({ namespace, serviceAccount, associationArn, associationId, ownerArn }) => ({
          clusterName: cluster.name,
          namespace,
          serviceAccount,
          associationArn,
          associationId,
          ...(ownerArn === undefined ? {} : { ownerArn }),
        }))
      return listAnswer('associations', summaries, query)
    },
  },
  { method: 'GET', path: `${ASSOCIATIONS}/:id`, answer: (call) => toAssociation(call.cluster, associationAt(call)) },
  { method: 'POST', path: `${ASSOCIATIONS}/:id`, answer: update },
  {
    method: 'DELETE',
    path: `${ASSOCIATIONS}/:id`,
    answer(call) {
      const association = associationAt(call)
      call.cluster.associations.delete(association.associationId)
      return toAssociation(call.cluster, association)
    },
  },
]
