import { it } from 'node:test'
import { killAndRecover } from './recovery-story.ts'
it('runner apply', () => killAndRecover('runner', 'apply'))
