// The same promises, kept by a real kube-apiserver: CAPT_REAL_KUBECONFIG names its kubeconfig.
import { connect, loadKubeconfig } from '#kube'
import { objectsContract } from '../../../src/kube/contract.ts'

const path = process.env['CAPT_REAL_KUBECONFIG']
if (!path) throw new Error('set CAPT_REAL_KUBECONFIG to the kubeconfig of a throw-away API server')

objectsContract('a real API server', async () => {
  const access = await loadKubeconfig({ path })
  const [ours, theirs] = [connect(access), connect(access)]
  const close = async () => void (await Promise.all([ours.close(), theirs.close()]))
  return { objects: ours.objects, informers: ours.informers, others: theirs.objects, close }
})
