// What a health check may answer, with the evidence for it.
export interface Finding {
  /** `degraded` works now, and something around it does not. */
  readonly state: 'healthy' | 'degraded' | 'progressing' | 'failed'
  readonly evidence: string
  /** States a cause: the finding to show when there are several. */
  readonly isCause?: boolean
}

export const healthy = (evidence: string): Finding => ({ state: 'healthy', evidence })
export const degraded = (evidence: string): Finding => ({ state: 'degraded', evidence })
export const progressing = (evidence: string): Finding => ({ state: 'progressing', evidence })
export const troubled = (evidence: string): Finding => ({ state: 'progressing', evidence, isCause: true })
export const failed = (evidence: string): Finding => ({ state: 'failed', evidence })

/** Whether the checked object works. */
export const isWorking = ({ state }: Finding): boolean => state === 'healthy' || state === 'degraded'
