// A speculative run from the command line: makes the object, waits for its plan, reads it and deletes the object again.
import { randomUUID } from 'node:crypto'
import { conditionOf, WorkspaceTemplateApply } from '#api'
import type { Speculated } from '#app'
import { type PlanText, readPlanText } from '#engine'
import type { Connected } from '#kube'
import { boundedName, CaptError, sleep } from '#lib'
import type { Io } from './command.ts'
import { createReporter } from './progress/reporter.ts'

const POLL_MS = 250

export async function planSpeculatively(
  { objects, namespace }: Connected,
  { target, spec }: Speculated,
  waitMs: number,
  io: Io,
): Promise<PlanText> {
  const name = boundedName(`${target}-plan-${randomUUID().slice(0, 8)}`, 63)
  const key = { namespace, name }
  const { templateRef, variables, values, credentialsRef, timeout } = spec
  await objects.create<WorkspaceTemplateApply>(WorkspaceTemplateApply, {
    apiVersion: WorkspaceTemplateApply.apiVersion,
    kind: WorkspaceTemplateApply.kind,
    metadata: { name, namespace },
    spec: {
      speculativeFor: target,
      templateRef,
      ...(variables ? { variables } : {}),
      ...(values ? { values } : {}),
      ...(credentialsRef ? { credentialsRef } : {}),
      ...(timeout ? { timeout } : {}),
    } as WorkspaceTemplateApply['spec'],
  })
  const until = io.clock.monotonic() + waitMs
  const reporter = createReporter(io)
  try {
    for (;;) {
      const apply = await objects.get<WorkspaceTemplateApply>(WorkspaceTemplateApply, key)
      const ready = apply && conditionOf(apply, 'Ready')
      const text = ready?.reason === 'SpeculationPlanned' ? await readPlanText(objects, key) : undefined
      if (text) return text
      const isStalled = apply && conditionOf(apply, 'Stalled')?.status === 'True'
      if (isStalled || io.signal.aborted || io.clock.monotonic() > until)
        throw new CaptError(
          'CAPT_PLAN_FAILED',
          `there is no plan for ${namespace}/${target}: ${ready?.message || 'nobody has begun it'}`,
          {
            hint: isStalled
              ? 'correct the manifest'
              : 'check that capt up or the manager is running, or wait longer: --wait 10m',
          },
        )
      reporter.live(`plan of ${target}: ${ready?.message || 'not begun yet'}`)
      await sleep(io.clock, POLL_MS, io.signal)
    }
  } finally {
    reporter.close()
    await objects.delete(WorkspaceTemplateApply, key)
  }
}
