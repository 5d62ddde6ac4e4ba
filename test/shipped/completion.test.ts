// The completion scripts in the shells they are for, with names from a server.
import assert from 'node:assert/strict'
import { chmodSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { ALL_KINDS, toCustomResourceDefinition } from '#api'
import { type ApiServer, startApiServer } from '#apiserver'
import { capt } from '../support/cli-io.ts'
import { findTool, run } from '../support/tools.ts'
import { type Shipped, shippedProgram } from './support.ts'

const TEMPLATE = `apiVersion: infrastructure.cluster.x-k8s.io/v1beta1
kind: WorkspaceTemplate
metadata: {name: network}
spec: {template: {spec: {forProvider: {source: Inline, module: 'output "a" { value = 1 }'}}}}
`

/** Prints what the shell offers for `capt get workspacetemplates n`. */
const PROBES = {
  bash: `source ./script; COMP_WORDS=(./capt get workspacetemplates n); COMP_CWORD=3; _capt; printf '%s\\n' "\${COMPREPLY[@]}"`,
  zsh: `compdef() { :; }; _describe() { print -l -- $candidates; }; source ./script; words=(./capt get workspacetemplates n); CURRENT=4; _capt`,
  fish: `source ./script; fish_add_path -P $PWD; complete -C 'capt get workspacetemplates n'`,
}

describe('completion scripts', () => {
  let shipped: Shipped
  let folder: string
  let server: ApiServer
  before(async () => {
    shipped = shippedProgram()
    folder = shipped.folder
    server = await startApiServer({ dataDir: join(folder, 'home'), crds: ALL_KINDS.map(toCustomResourceDefinition) })
    await server.ready()
    writeFileSync(join(folder, 'kubeconfig'), server.kubeconfig())
    writeFileSync(join(folder, 'capt'), `#!/bin/sh\nexec '${shipped.bin}' "$@"\n`)
    chmodSync(join(folder, 'capt'), 0o755)
    const flags = ['--kubeconfig', join(folder, 'kubeconfig')]
    assert.equal((await capt(['apply', '-f', '-', ...flags], { stdin: TEMPLATE })).code, 0)
  })
  after(async () => {
    await server?.close()
    await shipped?.end()
  })

  for (const shell of ['bash', 'zsh', 'fish'] as const) {
    const path = findTool(shell)
    it(`of ${shell} offers names from the server`, { skip: path ? false : `needs ${shell}` }, async () => {
      writeFileSync(join(folder, 'script'), await shipped.captOk(['completion', shell]))
      const { code, out, err } = await run(path!, ['-c', PROBES[shell]], {
        cwd: folder,
        env: { ...shipped.env, KUBECONFIG: join(folder, 'kubeconfig') },
      })
      assert.deepEqual([code, out.trim()], [0, 'network'], err)
    })
  }

  it('are refused for a shell that capt does not know', async () => {
    const { code, stderr } = await capt(['completion', 'tcsh'])
    assert.equal(code, 2)
    assert.match(stderr, /hint one of: bash, zsh, fish/)
  })
})
