// What a health check may answer, with the evidence for it.
export interface Finding {
  readonly state: 'healthy' | 'progressing' | 'failed'
  readonly evidence: string
  /** Says why, not only that: the one to show when there are several. */
  readonly isCause?: boolean
}

export const healthy = (evidence: string): Finding => ({ state: 'healthy', evidence })
export const progressing = (evidence: string): Finding => ({ state: 'progressing', evidence })
export const troubled = (evidence: string): Finding => ({ state: 'progressing', evidence, isCause: true })
export const failed = (evidence: string): Finding => ({ state: 'failed', evidence })
