// The few AWS calls we make ourselves, behind one port.

export * from './account/index.ts'
export { connectAws } from './adapter.ts'
export { findTaggedAround } from './find-tagged.ts'
export * from './port.ts'
