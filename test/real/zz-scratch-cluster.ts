import { ALL_KINDS, APPLY_FINALIZER, CAPTCluster, CAPTControlPlane, clusterKind, keyOf, toCustomResourceDefinition, WorkspaceTemplateApply, SecretKind, type AnyObject, isDeletedForMove } from '#api'
import { captClusterController, captControlPlaneController } from '#controllers'
import { clusterSecretInformer } from '../../src/controllers/control-plane/index.ts'
import { connect, loadKubeconfig } from '#kube'
import { systemClock, silentLog } from '#lib'
import { runControllers, type AnyController } from '#runtime'
import { startKube, startCapi, until } from './lab.ts'

const version = (process.argv[2] ?? 'v1.14.2') as 'v1.14.2'
const kube = await startKube({ name: 'scratch', audit: true })
const ledger: string[] = []
try {
  const capi = await startCapi(kube, version)
  kube.kubectl(['apply', '--server-side', '-f', '-'], ALL_KINDS.map((k) => JSON.stringify(toCustomResourceDefinition(k))).join('\n---\n'))
  kube.kubectl(['wait', '--for=condition=Established', '--timeout=60s', 'crd', '--all'])
  const cv = version === 'v1.14.2' ? 'v1beta2' : 'v1beta1'
  const ClusterKind = clusterKind(cv)
  const access = await loadKubeconfig({ path: kube.kubeconfig })
  const ours = connect(access, { clock: systemClock })
  const others = connect(access, { clock: systemClock }).objects
  ours.informers.register(SecretKind, clusterSecretInformer)
  const events = { emit: (about: AnyObject, e: any) => console.log('  event', about.kind, e.reason, e.message) }
  const fault = () => { throw new Error('no aws') }
  const plane = captControlPlaneController({ clusterKind: ClusterKind, aws: { eksToken: fault, whoAmI: fault, ensureSpotRole: fault, findTagged: fault } as any, objects: ours.objects, events, clock: systemClock })
  const log: any = { ...silentLog, warn: (m: string, k: any) => console.log('  WARN', m, k), error: (m: string, k: any) => console.log('  ERR', m, k), with: () => log }
  const running = runControllers({ controllers: [captClusterController({ clusterKind: ClusterKind }), plane] as any as AnyController[], objects: ours.objects, informers: ours.informers, events, clock: systemClock, log })
  await running.synced()
  // terraform actor
  let stop = false
  const actor = (async () => {
    while (!stop) {
      for await (const f of others.list<any>(WorkspaceTemplateApply, { namespace: 'default' })) {
        const a = f as any
        if (a.metadata.deletionTimestamp) {
          if (!(a.metadata.finalizers ?? []).includes(APPLY_FINALIZER)) continue
          ledger.push(`${a.spec.retainWorkspaceOnDelete || isDeletedForMove(a) ? 'keep' : 'destroy'} ${a.metadata.name}`)
          await others.patch(WorkspaceTemplateApply, keyOf(a), { type: 'merge', body: { metadata: { finalizers: null } } })
        } else if (!(a.metadata.finalizers ?? []).includes(APPLY_FINALIZER)) await others.patch(WorkspaceTemplateApply, keyOf(a), { type: 'merge', body: { metadata: { finalizers: [APPLY_FINALIZER] } } })
        else {
          const r = a.status?.conditions?.find((c: any) => c.type === 'Ready')
          if (r?.observedGeneration === a.metadata.generation) continue
          ledger.push(`apply ${a.metadata.name} ${a.spec.variables.kubernetes_version ?? ''}`)
          const vpc = a.metadata.name.endsWith('-vpc')
          const outputs: any = vpc ? { vpc_id: 'vpc-1', private_subnets: ['subnet-a'], public_subnets: [], azs: ['eu-west-1a'] } : { cluster_name: 'demo', cluster_endpoint: kube.url, cluster_version: a.spec.variables.kubernetes_version }
          if (!vpc) {
            const data: any = { kubeconfig: kube.kubeconfigText, cluster_certificate_authority_data: Buffer.from(kube.caPem).toString('base64'), cluster_endpoint: kube.url }
            await others.apply(SecretKind, { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'demo-eks-connection', namespace: 'default' }, data: Object.fromEntries(Object.entries(data).map(([k, v]) => [k, Buffer.from(v as string).toString('base64')])) } as any)
          }
          await others.patch(WorkspaceTemplateApply, keyOf(a), { type: 'merge', body: { status: { phase: 'Applied', applied: true, outputs, appliedHash: `h${a.metadata.generation}`, lastAppliedTime: new Date().toISOString().slice(0, 19) + 'Z', conditions: [{ type: 'Ready', status: 'True', reason: 'Ready', message: '', lastTransitionTime: new Date().toISOString(), observedGeneration: a.metadata.generation }] } } }, { subresource: 'status' })
        }
      }
      await new Promise((r) => setTimeout(r, 200))
    }
  })()
  actor.catch((e) => console.log('actor', e))
  const ref = (group: string, kind: string) => cv === 'v1beta2' ? { apiGroup: group, kind, name: 'demo' } : { apiVersion: `${group}/v1beta1`, kind, name: 'demo', namespace: 'default' }
  const t0 = Date.now()
  kube.kubectl(['apply', '-f', '-'], [
    { apiVersion: `cluster.x-k8s.io/${cv}`, kind: 'Cluster', metadata: { name: 'demo', namespace: 'default' }, spec: { infrastructureRef: ref(CAPTCluster.group, 'CAPTCluster'), controlPlaneRef: ref(CAPTControlPlane.group, 'CAPTControlPlane') } },
    { apiVersion: CAPTCluster.apiVersion, kind: 'CAPTCluster', metadata: { name: 'demo', namespace: 'default' }, spec: { region: 'eu-west-1', vpcTemplateRef: { name: 'vpc' }, retainVpcOnDelete: true } },
    { apiVersion: CAPTControlPlane.apiVersion, kind: 'CAPTControlPlane', metadata: { name: 'demo', namespace: 'default' }, spec: { version: 'v1.34.2', workspaceTemplateRef: { name: 'eks' } } },
  ].map((o) => JSON.stringify(o)).join('\n---\n'))
  const get = (what: string) => JSON.parse(kube.kubectl(['get', what, 'demo', '-n', 'default', '-o', 'json', '--show-managed-fields']))
  await until('cluster provisioned', () => get('clusters').status?.phase === 'Provisioned', 90)
  console.log('PROVISIONED after', Date.now() - t0, 'ms')
  await new Promise((r) => setTimeout(r, 12000))
  console.log(kube.kubectl(['get', 'clusters,captclusters,captcontrolplanes,wtapply', '-A']))
  const c = get('clusters')
  for (const k of c.status.conditions) console.log('  ', k.type, k.status, k.reason, (k.message ?? '').slice(0, 150))
  console.log(JSON.stringify(c.spec.controlPlaneEndpoint), JSON.stringify(c.status.initialization), JSON.stringify(c.status.controlPlane), c.status.infrastructureReady, c.status.controlPlaneReady)
  const cp = get('captcontrolplanes')
  console.log(JSON.stringify(cp.metadata.ownerReferences), JSON.stringify(cp.metadata.managedFields.map((m: any) => [m.manager, m.operation, m.subresource])))
  // stable?
  const rv = () => ['clusters', 'captclusters', 'captcontrolplanes'].map((k) => get(k).metadata.resourceVersion).join()
  const before = rv(); await new Promise((r) => setTimeout(r, 10000)); console.log('stable', before === rv())
  // upgrade
  kube.kubectl(['patch', 'captcontrolplanes', 'demo', '-n', 'default', '--type=merge', '-p', '{"spec":{"version":"v1.35.0"}}'])
  await until('upgraded', () => get('captcontrolplanes').status.version === 'v1.35.0', 30)
  // ssa dry run idempotence
  // describe
  try { console.log((await import('node:child_process')).execFileSync((await import('./lab.ts')).capiBinary(version, 'clusterctl'), ['describe', 'cluster', 'demo', '-n', 'default', '--kubeconfig', kube.kubeconfig], { encoding: 'utf8', env: { ...process.env, GOPROXY: 'off' } })) } catch (e: any) { console.log('describe failed', e.message, e.stdout) }
  console.log(ledger)
  kube.kubectl(['delete', 'cluster', 'demo', '-n', 'default', '--wait=false'])
  await until('gone', () => kube.kubectl(['get', 'clusters,captclusters,captcontrolplanes', '-A', '-o', 'name']).trim() === '', 90)
  await new Promise((r) => setTimeout(r, 8000))
  console.log('after delete', ledger, kube.kubectl(['get', 'wtapply,secrets', '-n', 'default', '-o', 'name']))
  stop = true
  await actor
  plane.stop(); await running.stop(); await ours.close(); await capi.stop()
} finally { await kube.stop() }
process.exit(0)
