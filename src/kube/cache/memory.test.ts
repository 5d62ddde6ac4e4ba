// The memory cluster passes the contract suite of the client.
import { memoryCluster } from '#testing'
import { NobodysKind } from '../contract/widgets.ts'
import { objectsContract } from '../contract.ts'

const cluster = memoryCluster()
cluster.storage.unserve(NobodysKind)

objectsContract('the memory cluster', async () => {
  const { objects, others, informers, close } = cluster.connect()
  return { objects, others, informers, close }
})
