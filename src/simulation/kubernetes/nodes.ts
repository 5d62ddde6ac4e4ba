// Nodes of the simulated workload. A Node is made in two writes; a home that is killed in between leaves one without a status,
// which takes no pods. So a Node counts as there only when it has one, and making it again completes it.
import { type AnyObject, NodeKind } from '#api'
import { ignore, type Objects } from '#kube'
import type { Node } from './placement.ts'

export const hasJoined = (node: Pick<Node, 'status'> | undefined): boolean => node?.status?.conditions !== undefined

export async function joinNode(
  objects: Pick<Objects, 'create' | 'patch'>,
  node: AnyObject,
  status: object,
): Promise<void> {
  const { name } = node.metadata
  await objects.create(NodeKind, node).catch(ignore('AlreadyExists'))
  await objects.patch(NodeKind, { name }, { type: 'merge', body: { status } }, { subresource: 'status' })
}
