// The few AWS calls we make ourselves, behind one port.
export { type AwsOptions, connectAws } from './adapter.ts'
export { homeRegionOf } from './partition.ts'
export * from './port.ts'
