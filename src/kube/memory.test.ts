// The memory cluster keeps the promises that tests of every room lean on.
import { memoryCluster } from '#testing'
import { NobodysKind, objectsContract } from './contract.ts'

const cluster = memoryCluster()
cluster.storage.unserve(NobodysKind)

objectsContract('the memory cluster', async () => {
  const { objects, others, informers, close } = cluster.connect()
  return { objects, others, informers, close }
})
