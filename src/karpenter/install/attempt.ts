// One step of an installation or a removal: when it fails, the error says at which step, and that nothing is lost.
import { isAwsError } from '#aws'
import { CaptError, messageOf } from '#lib'

/** The error keeps the code of its cause. Hints of a step say what to mend; that the command continues is said here. */
export async function attempt(what: string, next: string, run: () => Promise<void>): Promise<void> {
  try {
    await run()
  } catch (error) {
    const { code, hint } = error instanceof CaptError ? error : { code: 'CAPT_KARPENTER_STEP', hint: undefined }
    const first = isAwsError(error, 'NoCredentials') ? 'renew your credentials' : hint
    throw new CaptError(code, `${what}: ${messageOf(error)}`, {
      hint: first ? `${first}; then ${next}` : next,
      cause: error,
    })
  }
}
