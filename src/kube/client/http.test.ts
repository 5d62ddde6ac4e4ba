// The client and the informers over HTTP and TLS keep the promises; a real API server is asked in test/real.
import { after } from 'node:test'
import { ConfigMapKind, NamespaceKind } from '#api'
import { faultyServer } from '#testing'
import { connect } from '../connect.ts'
import { WidgetKind } from '../contract/widgets.ts'
import { objectsContract } from '../contract.ts'

const server = await faultyServer({ kinds: [NamespaceKind, ConfigMapKind, WidgetKind] })
after(() => server.close())

objectsContract('HTTP', async () => {
  const [ours, theirs] = [connect(server.access()), connect(server.access())]
  const close = async () => void (await Promise.all([ours.close(), theirs.close()]))
  return { objects: ours.objects, informers: ours.informers, others: theirs.objects, close }
})
