// What a health check may answer, with the evidence for it.
export interface Finding {
  readonly state: 'healthy' | 'progressing' | 'failed'
  readonly evidence: string
}

export const healthy = (evidence: string): Finding => ({ state: 'healthy', evidence })
export const progressing = (evidence: string): Finding => ({ state: 'progressing', evidence })
export const failed = (evidence: string): Finding => ({ state: 'failed', evidence })
